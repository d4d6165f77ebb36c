#include "runtime/launcher/single_copy.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tandem {
namespace {

/// In a child. The address of a variable made before both forks is the same in both siblings.
[[noreturn]] void copy_from(pid_t sibling, int* remote) {
  int copy = 0;
  const iovec local{&copy, sizeof(copy)};
  const iovec there{remote, sizeof(*remote)};
  const auto copied = process_vm_readv(sibling, &local, 1, &there, 1, 0);
  _exit(copied == static_cast<ssize_t>(sizeof(copy)) && copy == *remote ? 0 : 1);
}

}  // namespace

bool single_copy_permitted() {
  int value = 4711;
  int ready[2];
  if (pipe(ready) != 0) return false;
  const pid_t source = fork();
  if (source == 0) {
    // What Open MPI's ranks do under Yama.
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const char go = 1;
    if (write(ready[1], &go, 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  char go = 0;
  close(ready[1]);
  const bool started = source > 0 && read(ready[0], &go, 1) == 1;
  close(ready[0]);
  int status = 1;
  if (started) {
    const pid_t reader = fork();
    if (reader == 0) copy_from(source, &value);
    if (reader > 0) waitpid(reader, &status, 0);
  }
  if (source > 0) {
    kill(source, SIGKILL);
    waitpid(source, nullptr, 0);
  }
  return started && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace tandem
