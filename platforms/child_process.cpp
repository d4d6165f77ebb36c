#include "platforms/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <new>
#include <sstream>

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

/// Memory that this process has mapped for data: the limit of a child counts from here.
rlim_t mapped_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    std::istringstream words(line);
    std::string key;
    rlim_t kib = 0;
    if (words >> key >> kib && key == "VmData:") return kib * 1024;
  }
  return 0;
}

void set_limits() {
  // A crash is an expected answer: no core file.
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const auto cpu_s = static_cast<rlim_t>(child_cpu_limit.count());
  const rlimit cpu{cpu_s, cpu_s + 1};
  setrlimit(RLIMIT_CPU, &cpu);
  // A child that waits forever takes no processor time.
  alarm(static_cast<unsigned>(child_time_limit.count()));
  const rlim_t bytes = mapped_bytes() + static_cast<rlim_t>(child_memory_limit.count());
  const rlimit memory{bytes, bytes};
  setrlimit(RLIMIT_DATA, &memory);
}

/// Nobody would read the answer of a child whose parent has ended.
void end_with(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have ended before.
  if (getppid() != parent) _exit(1);
}

[[noreturn]] void be_the_child(const std::function<void(const Emit&)>& task, int output, int errors) {
  set_limits();
  dup2(errors, STDOUT_FILENO);
  dup2(errors, STDERR_FILENO);
  try {
    task([output](std::string_view bytes) { write_all(output, bytes); });
  } catch (const std::bad_alloc&) {
    write_all(STDERR_FILENO, over_memory_limit() + '\n');
    _exit(1);
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

std::string over_memory_limit() {
  return "expected at most " + std::to_string(child_memory_limit.count() >> 30) +
         " GiB of memory, found more";
}

std::string over_time_limit(const ChildResult& result) {
  const auto text = [](Seconds limit, const char* kind) {
    return "expected at most " + std::to_string(std::lround(limit.count())) + " s of " + kind +
           "time, found more";
  };
  if (result.signal == SIGXCPU) return text(child_cpu_limit, "processor ");
  if (result.signal == SIGALRM) return text(child_time_limit, "");
  return {};
}

ChildResult run_in_child(const std::function<void(const Emit&)>& task) {
  const Pipe output = make_pipe();
  const Pipe errors = make_pipe();
  // Otherwise both processes would print the buffered text.
  std::fflush(nullptr);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) throw WorldError(std::string("cannot start a process: ") + std::strerror(errno));
  if (child == 0) {
    end_with(parent);
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
