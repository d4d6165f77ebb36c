#include "runtime/machines/conversation.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <sstream>

#include "policies/vocabulary/check.hpp"

namespace tandem::machines {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Seconds orderly_end{2.0};

Clock::time_point after(Seconds limit) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limit.count()));
}

}  // namespace

Conversation::Conversation(const std::vector<std::string>& words, Seconds limit)
    : end_(after(limit)), errors_(make_pipe()) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw WorldError("cannot make a socket pair");
  ours_ = Descriptor(ends[0]);
  const Descriptor theirs(ends[1]);
  program_.emplace(start_program({.words = words,
                                  .input = theirs.number(),
                                  .output = theirs.number(),
                                  .errors = errors_.write_end.number(),
                                  .own_group = true,
                                  .signal_on_parent_end = SIGTERM}));
  errors_.write_end.close();
}

Conversation::~Conversation() {
  // A killed srun would leave its program on the other machine.
  shutdown(ours_.number(), SHUT_WR);
  program_->wait_for(orderly_end);
}

void Conversation::allow(Seconds limit) { end_ = after(limit); }

std::optional<std::string> Conversation::ask(const std::string& question) {
  const std::string line = question + '\n';
  if (send(ours_.number(), line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size()))
    return std::nullopt;
  for (;;) {
    if (const auto end = received_.find('\n'); end != std::string::npos) {
      const std::string answer = received_.substr(0, end);
      received_.erase(0, end + 1);
      return answer;
    }
    if (!receive()) return std::nullopt;
  }
}

std::string Conversation::reason() {
  if (Clock::now() >= end_) return "no answer in time";
  const auto status = program_->wait_for(orderly_end);
  program_->kill();
  char bytes[4096];
  const ssize_t count = status ? read(errors_.read_end.number(), bytes, sizeof(bytes)) : 0;
  std::istringstream lines(std::string(bytes, count > 0 ? static_cast<std::size_t>(count) : 0));
  std::string last;
  for (std::string line; std::getline(lines, line);)
    if (line.find_first_not_of(" \t\r") != std::string::npos)
      last = line.substr(0, line.find_last_not_of(" \t\r") + 1);
  if (!last.empty()) return last;
  return status ? fmt::format("ended with exit code {}", status->shell_code()) : "no answer";
}

bool Conversation::receive() {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - Clock::now()).count();
  if (left <= 0) return false;
  pollfd polled{ours_.number(), POLLIN, 0};
  if (poll(&polled, 1, static_cast<int>(left)) <= 0) return false;
  char bytes[4096];
  const ssize_t count = recv(ours_.number(), bytes, sizeof(bytes), 0);
  if (count <= 0) return false;
  received_.append(bytes, static_cast<std::size_t>(count));
  return true;
}

}  // namespace tandem::machines
