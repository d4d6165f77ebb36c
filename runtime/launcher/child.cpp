#include "runtime/launcher/child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <thread>

#include "policies/vocabulary/check.hpp"

namespace tandem {
namespace {

std::string new_mark() {
  std::random_device random;
  return fmt::format("TANDEM_LAUNCH={}.{:08x}{:08x}", getpid(), random(), random());
}

std::array<int, 2> new_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw WorldError(fmt::format("pipe: {}", std::strerror(errno)));
  return ends;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (auto& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

/// In the child between fork and exec, where nothing may be allocated.
[[noreturn]] void become(char** arguments, char** environment, pid_t parent, int output, int error,
                         int failure, const sigset_t& signals) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);
  const int nowhere = open("/dev/null", O_RDONLY);
  dup2(nowhere, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(error, STDERR_FILENO);
  sigprocmask(SIG_UNBLOCK, &signals, nullptr);
  execvpe(arguments[0], arguments, environment);
  const int reason = errno;
  if (write(failure, &reason, sizeof(reason)) < 0) _exit(126);
  _exit(127);
}

/// Processes of this user whose environment has the mark.
std::vector<pid_t> marked_processes(const std::string& mark) {
  std::vector<pid_t> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    pid_t process = 0;
    const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), process);
    if (error != std::errc() || rest != name.data() + name.size()) continue;
    std::ifstream file(entry.path() / "environ", std::ios::binary);
    const std::string environment{std::istreambuf_iterator<char>(file), {}};
    if (environment.find(mark) != std::string::npos) found.push_back(process);
  }
  return found;
}

}  // namespace

LineReader::LineReader(int descriptor, std::function<void(const std::string&)> on_line)
    : descriptor_(descriptor), on_line_(std::move(on_line)) {
  fcntl(descriptor_, F_SETFL, O_NONBLOCK);
}

LineReader::~LineReader() {
  if (open()) close(descriptor_);
}

void LineReader::read_some() {
  std::array<char, 4096> buffer;
  // Bounded, so that a flood of lines cannot keep the launcher from a signal; more than a pipe holds.
  for (int reads = 0; open() && reads < 64; ++reads) {
    const auto count = ::read(descriptor_, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) {
      if (!rest_.empty()) on_line_(rest_);
      rest_.clear();
      close(descriptor_);
      descriptor_ = -1;
      return;
    }
    rest_.append(buffer.data(), static_cast<std::size_t>(count));
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = rest_.find('\n', begin)) != std::string::npos; begin = end + 1)
      on_line_(rest_.substr(begin, end - begin));
    rest_.erase(0, begin);
  }
}

Child::Child(const std::vector<std::string>& words, const sigset_t& signals) : mark_(new_mark()) {
  const auto out = new_pipe();
  const auto err = new_pipe();
  const auto failure = new_pipe();
  std::vector<std::string> arguments = words;
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);
  variables.push_back(mark_);
  const auto argument_list = pointers(arguments);
  const auto variable_list = pointers(variables);
  const pid_t parent = getpid();
  process_ = fork();
  if (process_ == 0)
    become(const_cast<char**>(argument_list.data()), const_cast<char**>(variable_list.data()), parent, out[1],
           err[1], failure[1], signals);
  for (const int end : {out[1], err[1], failure[1]}) close(end);
  output_ = out[0];
  error_ = err[0];
  int reason = errno;
  const bool failed = process_ < 0 || ::read(failure[0], &reason, sizeof(reason)) == sizeof(reason);
  close(failure[0]);
  if (!failed) return;
  if (process_ > 0) waitpid(process_, nullptr, 0);
  close(output_);
  close(error_);
  throw WorldError(fmt::format("cannot start {}: {}{}", words.front(), std::strerror(reason),
                               reason == ENOENT ? " (package openmpi-bin)" : ""));
}

Child::~Child() { kill_all(); }

std::optional<int> Child::ended() {
  int status = 0;
  if (!status_ && waitpid(process_, &status, WNOHANG) == process_) status_ = status;
  return status_;
}

void Child::signal(int number) const {
  if (!status_) kill(process_, number);
}

void Child::kill_all() {
  using namespace std::chrono_literals;
  const auto give_up = std::chrono::steady_clock::now() + 2s;
  signal(SIGKILL);
  for (auto pause = 1ms;; pause = std::min<std::chrono::milliseconds>(2 * pause, 50ms)) {
    const bool gone = ended().has_value();
    const auto rest = marked_processes(mark_);
    if ((gone && rest.empty()) || std::chrono::steady_clock::now() > give_up) return;
    for (const pid_t process : rest)
      if (process != process_) kill(process, SIGKILL);
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace tandem
