"""Charge an account for a mechanism and run it, as publishing does, without a plan and without files."""

from dataclasses import replace


def charged(account, mechanism, corpus, rng, *, accept_unproven=False):
    account.check_generator(rng)
    account.check(mechanism.guarantee, accept_unproven=accept_unproven)
    mechanism.check(corpus)
    promised = mechanism.guarantee.assuming(corpus.assumptions)
    account.charge(promised, mechanism.name, by=corpus.bounds.column, accept_unproven=accept_unproven)
    made = mechanism(corpus, rng).assuming(corpus.assumptions)
    return replace(made, guarantee=account.finalize(made.guarantee, made.value))
