#include "platforms/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "policies/vocabulary/check.hpp"

namespace tandem::platforms {
namespace {

struct Pipe {
  int read_end;
  int write_end;
};

Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw WorldError(std::string("cannot make a pipe: ") + std::strerror(errno));
  return {ends[0], ends[1]};
}

void write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) _exit(1);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

[[noreturn]] void be_the_child(const std::function<void(const Emit&)>& task, int output, int errors) {
  // A crash is an expected answer: no core file.
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  dup2(errors, STDOUT_FILENO);
  dup2(errors, STDERR_FILENO);
  try {
    task([output](std::string_view bytes) { write_all(output, bytes); });
  } catch (const std::exception& error) {
    write_all(STDERR_FILENO, std::string(error.what()) + '\n');
    _exit(1);
  }
  // Without destructors or exit handlers: they belong to the parent.
  _exit(0);
}

/// Reads both pipes concurrently to their ends: a child blocked on a full pipe would never close the other.
void drain(int output, int errors, ChildResult& result) {
  std::array<pollfd, 2> files{pollfd{output, POLLIN, 0}, pollfd{errors, POLLIN, 0}};
  std::array<std::string*, 2> texts{&result.output, &result.errors};
  std::array<char, 65536> buffer;
  while (files[0].fd >= 0 || files[1].fd >= 0) {
    if (poll(files.data(), files.size(), -1) < 0) continue;
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (files[i].fd < 0 || files[i].revents == 0) continue;
      const ssize_t got = read(files[i].fd, buffer.data(), buffer.size());
      if (got > 0)
        texts[i]->append(buffer.data(), static_cast<std::size_t>(got));
      else if (got == 0 || errno != EINTR)
        files[i].fd = -1;
    }
  }
}

}  // namespace

ChildResult run_in_child(const std::function<void(const Emit&)>& task) {
  const Pipe output = make_pipe();
  const Pipe errors = make_pipe();
  // What is buffered now would otherwise be printed by both processes.
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) throw WorldError(std::string("cannot start a process: ") + std::strerror(errno));
  if (child == 0) {
    close(output.read_end);
    close(errors.read_end);
    be_the_child(task, output.write_end, errors.write_end);
  }
  close(output.write_end);
  close(errors.write_end);
  ChildResult result{false, {}, {}, 0};
  drain(output.read_end, errors.read_end, result);
  close(output.read_end);
  close(errors.read_end);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  result.succeeded = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  return result;
}

}  // namespace tandem::platforms
