#include "runtime/process/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

namespace tandem {
namespace {

/// The data of the child between fork and exec, prepared by the parent: the child may not allocate memory.
struct Launch {
  std::vector<char*> arguments;
  std::vector<char*> variables;
  int input;
  int output;
  int errors;
  int failure;  ///< pipe to the parent, for the errno of a failure
  bool own_group;
  int signal_on_parent_end;
  const sigset_t* blocked_signals;
  pid_t parent;
};

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (auto& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

/// In a child: asks the kernel for a signal when the parent ends. The parent may have ended before.
void follow_parent(pid_t parent, int signal) {
  if (signal == 0) return;
  prctl(PR_SET_PDEATHSIG, signal);
  if (getppid() != parent) _exit(1);
}

[[noreturn]] void report_failure(int failure) {
  const int reason = errno;
  if (write(failure, &reason, sizeof(reason)) < 0) _exit(126);
  _exit(127);
}

/// A copy above the standard descriptors, so that placing one of them cannot overwrite another.
int moved_up(int descriptor, int failure) {
  const int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (copy < 0) report_failure(failure);
  return copy;
}

/// In the child between fork and exec.
[[noreturn]] void execute(const Launch& launch) {
  const int failure = moved_up(launch.failure, launch.failure);
  if (launch.own_group && setpgid(0, 0) != 0) report_failure(failure);
  follow_parent(launch.parent, launch.signal_on_parent_end);
  const int input = moved_up(launch.input, failure);
  const int output = moved_up(launch.output, failure);
  const int errors = moved_up(launch.errors, failure);
  if (dup2(input, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 || dup2(errors, STDERR_FILENO) < 0)
    report_failure(failure);
  if (launch.blocked_signals != nullptr) sigprocmask(SIG_SETMASK, launch.blocked_signals, nullptr);
  execvpe(launch.arguments.front(), launch.arguments.data(), launch.variables.data());
  report_failure(failure);
}

/// errno of a failure in the child before the program ran; 0 if the program runs. `failure` is closed on
/// exec.
int reason_from(int failure) {
  int reason = 0;
  ssize_t count = 0;
  while ((count = ::read(failure, &reason, sizeof(reason))) < 0 && errno == EINTR) continue;
  return count == static_cast<ssize_t>(sizeof(reason)) ? reason : 0;
}

ExitStatus status_of(int status) {
  if (WIFSIGNALED(status)) return {.signal = WTERMSIG(status)};
  return {.code = WEXITSTATUS(status)};
}

pid_t checked_fork() {
  const pid_t child = fork();
  if (child < 0) throw WorldError(fmt::format("cannot start a process: {}", std::strerror(errno)));
  return child;
}

}  // namespace

// ---- Starting ----

Process start_program(const Program& program) {
  TANDEM_CHECK(!program.words.empty(), "a program to start needs a name");
  std::vector<std::string> arguments = program.words;
  std::vector<std::string> variables;
  // The first of several variables of one name counts.
  variables.insert(variables.end(), program.environment.begin(), program.environment.end());
  for (char** variable = environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);
  const Descriptor null_input(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null_input.is_open()) throw WorldError("cannot open /dev/null");
  Pipe failure = make_pipe();
  const Launch launch{.arguments = pointers_to(arguments),
                      .variables = pointers_to(variables),
                      .input = program.input.value_or(null_input.number()),
                      .output = program.output.value_or(STDOUT_FILENO),
                      .errors = program.errors.value_or(STDERR_FILENO),
                      .failure = failure.write_end.number(),
                      .own_group = program.own_group,
                      .signal_on_parent_end = program.signal_on_parent_end,
                      .blocked_signals = program.blocked_signals ? &*program.blocked_signals : nullptr,
                      .parent = getpid()};
  const pid_t child = checked_fork();
  if (child == 0) execute(launch);
  Process process(child, program.own_group);
  failure.write_end.close();
  const int reason = reason_from(failure.read_end.number());
  if (reason == 0) return process;
  process.wait();
  const std::string message =
      fmt::format("cannot start {}: {}", program.words.front(), std::strerror(reason));
  if (reason == ENOENT) throw ProgramMissing(message);
  throw WorldError(message);
}

Process start_function(const std::function<int()>& function, const FunctionSetting& setting) {
  const pid_t parent = getpid();
  // Text that is buffered now would otherwise be printed by both processes.
  std::fflush(nullptr);
  const pid_t child = checked_fork();
  if (child != 0) return Process(child, setting.own_group);
  follow_parent(parent, SIGKILL);
  if ((setting.own_group && setpgid(0, 0) != 0) ||
      (setting.output &&
       (dup2(*setting.output, STDOUT_FILENO) < 0 || dup2(*setting.output, STDERR_FILENO) < 0)))
    _exit(126);
  if (setting.blocked_signals) sigprocmask(SIG_SETMASK, &*setting.blocked_signals, nullptr);
  int code = EXIT_FAILURE;
  try {
    code = function();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::fflush(stderr);
  }
  _exit(code);
}

// ---- Watching ----

Process::Process(Process&& other) noexcept
    : id_(std::exchange(other.id_, -1)), own_group_(other.own_group_), status_(other.status_) {}

Process& Process::operator=(Process&& other) noexcept {
  if (this == &other) return *this;
  end();
  id_ = std::exchange(other.id_, -1);
  own_group_ = other.own_group_;
  status_ = other.status_;
  return *this;
}

Process::~Process() { end(); }

void Process::end() {
  if (id_ < 0 || status_) return;
  kill();
  wait();
}

std::optional<ExitStatus> Process::poll() {
  int status = 0;
  if (!status_ && waitpid(id_, &status, WNOHANG) == id_) status_ = status_of(status);
  return status_;
}

ExitStatus Process::wait() {
  int status = 0;
  while (!status_) {
    if (waitpid(id_, &status, 0) == id_)
      status_ = status_of(status);
    else
      TANDEM_CHECK(errno == EINTR, "only this object may wait for process", id_);
  }
  return *status_;
}

std::optional<ExitStatus> Process::wait_for(Seconds limit) {
  using namespace std::chrono_literals;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(limit.count());
  for (auto pause = 1ms; !poll() && std::chrono::steady_clock::now() < end;
       pause = std::min<std::chrono::milliseconds>(2 * pause, 50ms))
    std::this_thread::sleep_for(pause);
  return status_;
}

void Process::signal(int number) const {
  // Until its status is collected, the kernel gives the number to no other process.
  if (!status_) ::kill(id_, number);
}

void Process::kill() const {
  if (status_) return;
  if (own_group_) ::kill(-id_, SIGKILL);
  ::kill(id_, SIGKILL);
}

}  // namespace tandem
