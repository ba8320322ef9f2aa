/* Logs what a program does to the files of one folder, with all data: preload it.
 *
 * DISK_FOLDER names the folder and DISK_LOG the log. A record is a head of four whole numbers of
 * eight bytes (what, handle, offset, length), then `length` bytes: a name or data. Each call is
 * logged after it was made, under a lock, so that the log has the order of the calls.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { OPEN = 1, CLOSE, WRITE, TRUNCATE, SYNC, RENAME, UNLINK, TRUNCATE_AT_OPEN };

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static const char *folder;
static int out = -1;
static unsigned char watched[65536];

__attribute__((constructor)) static void begin(void) {
    folder = getenv("DISK_FOLDER");
    const char *name = getenv("DISK_LOG");
    if (folder && name)
        out = (int)syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static void put(const void *data, size_t n) {
    const char *at = data;
    while (n) {
        ssize_t done = syscall(SYS_write, out, at, n);
        if (done < 0) abort();
        at += done;
        n -= (size_t)done;
    }
}

static void record(int what, int handle, int64_t offset, const void *data, size_t length) {
    int64_t head[4] = {what, handle, offset, (int64_t)length};
    put(head, sizeof head);
    if (length) put(data, length);
}

static int below(const char *path) {
    return out >= 0 && path && folder && !strncmp(path, folder, strlen(folder));
}

static int is_watched(int handle) {
    return out >= 0 && handle >= 0 && handle < 65536 && watched[handle];
}

static int opened(int handle, const char *path, int flags) {
    if (handle >= 0 && handle < 65536 && below(path)) {
        pthread_mutex_lock(&lock);
        watched[handle] = 1;
        record(OPEN, handle, 0, path, strlen(path));
        if (flags & O_TRUNC) record(TRUNCATE_AT_OPEN, handle, 0, NULL, 0);
        pthread_mutex_unlock(&lock);
    }
    return handle;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define MODE(flags)                                                                                \
    mode_t mode = 0;                                                                               \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                                                         \
        va_list more;                                                                              \
        va_start(more, flags);                                                                     \
        mode = va_arg(more, mode_t);                                                               \
        va_end(more);                                                                              \
    }

int open(const char *path, int flags, ...) { MODE(flags) return opened(REAL(open)(path, flags, mode), path, flags); }
int open64(const char *path, int flags, ...) { MODE(flags) return opened(REAL(open64)(path, flags, mode), path, flags); }
int openat(int at, const char *path, int flags, ...) { MODE(flags) return opened(REAL(openat)(at, path, flags, mode), path, flags); }
int openat64(int at, const char *path, int flags, ...) { MODE(flags) return opened(REAL(openat64)(at, path, flags, mode), path, flags); }

int close(int handle) {
    pthread_mutex_lock(&lock);
    if (is_watched(handle)) {
        record(CLOSE, handle, 0, NULL, 0);
        watched[handle] = 0;
    }
    int result = REAL(close)(handle);
    pthread_mutex_unlock(&lock);
    return result;
}

static ssize_t wrote(int handle, const void *data, ssize_t n, off_t offset) {
    if (n > 0 && is_watched(handle)) {
        int kept = errno;
        record(WRITE, handle, offset, data, (size_t)n);
        errno = kept;
    }
    return n;
}

ssize_t pwrite(int handle, const void *data, size_t n, off_t offset) {
    pthread_mutex_lock(&lock);
    ssize_t result = wrote(handle, data, REAL(pwrite)(handle, data, n, offset), offset);
    pthread_mutex_unlock(&lock);
    return result;
}

ssize_t pwrite64(int handle, const void *data, size_t n, off64_t offset) {
    pthread_mutex_lock(&lock);
    ssize_t result = wrote(handle, data, REAL(pwrite64)(handle, data, n, offset), offset);
    pthread_mutex_unlock(&lock);
    return result;
}

ssize_t write(int handle, const void *data, size_t n) {
    pthread_mutex_lock(&lock);
    ssize_t result = REAL(write)(handle, data, n);
    if (result > 0 && is_watched(handle))
        wrote(handle, data, result, lseek(handle, 0, SEEK_CUR) - result);
    pthread_mutex_unlock(&lock);
    return result;
}

static int noted(int result, int what, int handle, int64_t offset) {
    if (result == 0 && is_watched(handle)) record(what, handle, offset, NULL, 0);
    return result;
}

#define LOCKED(call, what, handle, offset)                                                         \
    pthread_mutex_lock(&lock);                                                                     \
    int result = noted(call, what, handle, offset);                                                \
    pthread_mutex_unlock(&lock);                                                                   \
    return result;

int ftruncate(int handle, off_t size) { LOCKED(REAL(ftruncate)(handle, size), TRUNCATE, handle, size) }
int ftruncate64(int handle, off64_t size) { LOCKED(REAL(ftruncate64)(handle, size), TRUNCATE, handle, size) }
int fsync(int handle) { LOCKED(REAL(fsync)(handle), SYNC, handle, 0) }
int fdatasync(int handle) { LOCKED(REAL(fdatasync)(handle), SYNC, handle, 0) }

int unlink(const char *path) {
    pthread_mutex_lock(&lock);
    int result = REAL(unlink)(path);
    if (result == 0 && below(path)) record(UNLINK, 0, 0, path, strlen(path));
    pthread_mutex_unlock(&lock);
    return result;
}

int rename(const char *from, const char *to) {
    char both[2 * PATH_MAX];
    pthread_mutex_lock(&lock);
    int result = REAL(rename)(from, to);
    if (result == 0 && below(from)) {
        int n = snprintf(both, sizeof both, "%s\n%s", from, to);
        record(RENAME, 0, 0, both, (size_t)n);
    }
    pthread_mutex_unlock(&lock);
    return result;
}
