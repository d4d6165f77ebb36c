// Forks ranks for tests, so that libtorch is loaded once for all of them: see rank_request.hpp. It ends with
// the process that started it, and its ranks with it.
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <map>
#include <span>

#include "runtime/process/descriptor.hpp"
#include "runtime/rank/rank_program.hpp"
#include "tests/cli/rank_request.hpp"
#include "workloads/learner/learner.hpp"

extern char** environ;  // NOLINT

namespace {

using namespace tandem;
using namespace tandem::testing;

/// The memory in which the kernel looks for this process's arguments and variables (/proc/self/cmdline and
/// environ): from the first argument to the end of the last variable.
std::span<char> shown_words(char** argv) {
  char* end = argv[0];
  for (char** word = environ; *word != nullptr; ++word) end = *word + std::strlen(*word) + 1;
  return {argv[0], end};
}

/// Shows the request's words in /proc. The arguments become one text, which is longer than the path of this
/// program: where no zero byte ends the memory of the arguments, the kernel shows it up to its first zero
/// byte.
void show(std::span<char> shown, const RankRequest& request) {
  std::string text;
  for (std::size_t i = 0; i < request.words.size(); ++i) {
    text += request.words[i];
    text += i + 1 < request.fixed.arguments ? ' ' : '\0';
  }
  std::ranges::fill(shown, '\0');
  text.copy(shown.data(), shown.size() - 1);
  prctl(PR_SET_NAME, "tandem-rank");
}

[[noreturn]] void become_rank(std::span<char> shown, RankRequest request,
                              const std::array<int, 3>& descriptors) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int number = 0; number < 3; ++number) dup2(descriptors[number], number);
  for (const int descriptor : descriptors) close(descriptor);
  umask(request.fixed.mask);
  sched_setaffinity(0, sizeof request.fixed.processors, &request.fixed.processors);
  for (int kind = 0; kind < RLIM_NLIMITS; ++kind)
    setrlimit(static_cast<__rlimit_resource>(kind), &request.fixed.limits[kind]);
  if (chdir(request.folder.c_str()) != 0) _exit(127);
  show(shown, request);
  std::vector<char*> words;
  for (auto& word : request.words) words.push_back(word.data());
  words.push_back(nullptr);
  environ = words.data() + request.fixed.arguments;
  std::vector<char*> arguments(words.begin(),
                               words.begin() + static_cast<std::ptrdiff_t>(request.fixed.arguments));
  arguments.push_back(nullptr);
  rank_program(static_cast<int>(request.fixed.arguments), arguments.data());
}

class RankServer {
 public:
  RankServer(int listening, std::span<char> shown) : listening_(listening), shown_(shown) {
    sigset_t ended;
    sigemptyset(&ended);
    sigaddset(&ended, SIGCHLD);
    sigprocmask(SIG_BLOCK, &ended, nullptr);
    endings_ = signalfd(-1, &ended, SFD_CLOEXEC | SFD_NONBLOCK);
  }

  void serve() {
    std::vector<pollfd> waited{{listening_, POLLIN, 0}, {endings_, POLLIN, 0}};
    for (const auto& [stand_in, rank] : ranks_) waited.push_back({stand_in, POLLIN, 0});
    if (poll(waited.data(), waited.size(), -1) < 0) return;
    for (std::size_t i = 2; i < waited.size(); ++i)
      if (waited[i].revents != 0) hear(waited[i].fd);
    if (waited[1].revents != 0) collect();
    if (waited[0].revents != 0) accept_stand_in();
  }

 private:
  void accept_stand_in() {
    const int stand_in = accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
    if (stand_in >= 0) ranks_[stand_in] = 0;
  }

  /// The request, a signal, or the stand-in's end.
  void hear(int stand_in) {
    std::vector<char> data(largest_request);
    RankMessage message(data.data(), data.size());
    const ssize_t size = recvmsg(stand_in, &message.header, MSG_CMSG_CLOEXEC);
    pid_t& rank = ranks_.at(stand_in);
    if (size <= 0) {
      if (rank > 0) kill(rank, SIGKILL);
      forget(stand_in);
    } else if (rank == 0) {
      std::array<int, 3> descriptors{};
      std::memcpy(descriptors.data(), CMSG_DATA(CMSG_FIRSTHDR(&message.header)), sizeof descriptors);
      rank = start(RankRequest::parse({data.data(), static_cast<std::size_t>(size)}), descriptors);
      for (const int descriptor : descriptors) close(descriptor);
    } else {
      int number = 0;
      std::memcpy(&number, data.data(), sizeof number);
      kill(rank, number);
    }
  }

  pid_t start(const RankRequest& request, const std::array<int, 3>& descriptors) {
    const pid_t rank = fork();
    if (rank != 0) return rank;
    close(listening_);
    close(endings_);
    for (const auto& [stand_in, other] : ranks_) close(stand_in);
    become_rank(shown_, request, descriptors);
  }

  void collect() {
    signalfd_siginfo ignored{};
    while (read(endings_, &ignored, sizeof ignored) > 0) continue;
    int status = 0;
    while (const pid_t ended = waitpid(-1, &status, WNOHANG)) {
      if (ended < 0) return;
      for (const auto& [stand_in, rank] : ranks_)
        if (rank == ended) {
          send(stand_in, &status, sizeof status, MSG_NOSIGNAL);
          forget(stand_in);
          break;
        }
    }
  }

  void forget(int stand_in) {
    close(stand_in);
    ranks_.erase(stand_in);
  }

  int listening_;
  int endings_ = -1;
  std::span<char> shown_;
  std::map<int, pid_t> ranks_;  ///< by the connection of their stand-in; 0: not started
};

}  // namespace

int main(int, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const std::span<char> shown = shown_words(argv);
  const int listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  const sockaddr_un address = rank_server_address(std::getenv(rank_server_variable));
  if (bind(listening, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return 70;
  prepare_learner();
  if (listen(listening, 256) != 0) return 70;
  RankServer server(listening, shown);
  for (;;) server.serve();
}
