/* LD_PRELOAD: log every call that changes files under $RECORD_ROOT, with its data, to $RECORD_LOG.

   A record is: one letter, int32 descriptor, int64 number, int32 + bytes, int32 + bytes.
   O open (number: flags, first: path)   W write (number: offset, first: data)   T truncate (number: length)
   S sync   C close   R rename (first: from, second: to)   U unlink   M mkdir   D rmdir  */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST 65536
static int log_fd = -1;
static char root[PATH_MAX];
static char tracked[MOST];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void begin(void) {
    const char *where = getenv("RECORD_LOG"), *under = getenv("RECORD_ROOT");
    if (!where || !under) return;
    strncpy(root, under, sizeof root - 1);
    log_fd = syscall(SYS_openat, AT_FDCWD, where, O_WRONLY | O_CREAT | O_APPEND, 0600);
}

static int inside(const char *path) {
    if (log_fd < 0 || !path) return 0;
    if (path[0] != '/') { syscall(SYS_write, 2, "record: relative path\n", 22); return 0; }
    return strncmp(path, root, strlen(root)) == 0;
}

static void put(const void *bytes, size_t n) {
    while (n > 0) {
        ssize_t done = syscall(SYS_write, log_fd, bytes, n);
        if (done <= 0) _exit(99);
        bytes = (const char *)bytes + done;
        n -= done;
    }
}

static void record(char what, int fd, int64_t number, const void *one, size_t n, const void *two, size_t m) {
    int32_t small[3] = {fd, (int32_t)n, (int32_t)m};
    pthread_mutex_lock(&lock);
    put(&what, 1); put(&small[0], 4); put(&number, 8);
    put(&small[1], 4); put(one, n); put(&small[2], 4); put(two, m);
    pthread_mutex_unlock(&lock);
}

static int own(int fd) { return log_fd >= 0 && fd >= 0 && fd < MOST && tracked[fd]; }

static int opened(int fd, const char *path, int flags) {
    if (fd >= 0 && fd < MOST && inside(path)) {
        tracked[fd] = 1;
        record('O', fd, flags, path, strlen(path), "", 0);
    }
    return fd;
}

#define MODE mode_t mode = 0; if (flags & (O_CREAT | O_TMPFILE)) { va_list a; va_start(a, flags); mode = va_arg(a, mode_t); va_end(a); }
int open(const char *path, int flags, ...) { MODE return opened(syscall(SYS_openat, AT_FDCWD, path, flags, mode), path, flags); }
int open64(const char *path, int flags, ...) { MODE return opened(syscall(SYS_openat, AT_FDCWD, path, flags, mode), path, flags); }
int openat(int at, const char *path, int flags, ...) { MODE return opened(syscall(SYS_openat, at, path, flags, mode), at == AT_FDCWD || path[0] == '/' ? path : NULL, flags); }
int openat64(int at, const char *path, int flags, ...) { MODE return opened(syscall(SYS_openat, at, path, flags, mode), at == AT_FDCWD || path[0] == '/' ? path : NULL, flags); }

ssize_t write(int fd, const void *data, size_t n) {
    int64_t at = own(fd) ? lseek(fd, 0, SEEK_CUR) : 0;
    ssize_t done = syscall(SYS_write, fd, data, n);
    if (done > 0 && own(fd)) record('W', fd, at, data, done, "", 0);
    return done;
}
static ssize_t at_place(int fd, const void *data, size_t n, int64_t at) {
    ssize_t done = syscall(SYS_pwrite64, fd, data, n, at);
    if (done > 0 && own(fd)) record('W', fd, at, data, done, "", 0);
    return done;
}
ssize_t pwrite(int fd, const void *data, size_t n, off_t at) { return at_place(fd, data, n, at); }
ssize_t pwrite64(int fd, const void *data, size_t n, off64_t at) { return at_place(fd, data, n, at); }

static int cut(int fd, int64_t length) {
    int failed = syscall(SYS_ftruncate, fd, length);
    if (!failed && own(fd)) record('T', fd, length, "", 0, "", 0);
    return failed;
}
int ftruncate(int fd, off_t length) { return cut(fd, length); }
int ftruncate64(int fd, off64_t length) { return cut(fd, length); }

int fsync(int fd) {
    int failed = syscall(SYS_fsync, fd);
    if (!failed && own(fd)) record('S', fd, 0, "", 0, "", 0);
    return failed;
}
int fdatasync(int fd) {
    int failed = syscall(SYS_fdatasync, fd);
    if (!failed && own(fd)) record('S', fd, 0, "", 0, "", 0);
    return failed;
}
int close(int fd) {
    if (own(fd)) { tracked[fd] = 0; record('C', fd, 0, "", 0, "", 0); }
    return syscall(SYS_close, fd);
}

static int done(int failed, char what, const char *one, const char *two) {
    if (!failed && inside(one)) record(what, -1, 0, one, strlen(one), two, strlen(two));
    return failed;
}
int rename(const char *one, const char *two) { return done(REAL(rename)(one, two), 'R', one, two); }
int unlink(const char *path) { return done(REAL(unlink)(path), 'U', path, ""); }
int mkdir(const char *path, mode_t mode) { return done(REAL(mkdir)(path, mode), 'M', path, ""); }
int rmdir(const char *path) { return done(REAL(rmdir)(path), 'D', path, ""); }
