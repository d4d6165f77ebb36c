// Stands in for tandem-rank in tests: a server that has loaded libtorch (rank_server.cpp) forks the rank.
// Loading it takes most of the processor time of a short job. The stand-in passes signals on and ends as the
// rank does. Where the server cannot help, it becomes the real program.
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "tests/cli/rank_request.hpp"

extern char** environ;  // NOLINT

namespace {

using namespace tandem::testing;

/// Everything but a rank of a job in the server's namespaces with one thread.
bool needs_the_program(int argc, char** argv) {
  const char* const threads = std::getenv("OMP_NUM_THREADS");
  if (argc < 3 || !std::string_view(argv[1]).ends_with(".json") || std::string_view(argv[2]) != "--out")
    return true;
  return std::getenv(rank_server_variable) == nullptr || std::getenv("OMPI_COMM_WORLD_RANK") == nullptr ||
         std::getenv("LD_PRELOAD") != nullptr || threads == nullptr || std::string_view(threads) != "1";
}

bool is_in_namespaces_of(pid_t process) {
  namespace fs = std::filesystem;
  std::error_code error;
  for (const char* name : {"net", "mnt", "pid", "user", "uts", "ipc"}) {
    const std::string file = std::string("/ns/") + name;
    if (fs::read_symlink("/proc/self" + file, error) !=
        fs::read_symlink("/proc/" + std::to_string(process) + file, error))
      return false;
  }
  return true;
}

/// A connection, or -1.
int connect_to_server() {
  const int server = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  const sockaddr_un address = rank_server_address(std::getenv(rank_server_variable));
  ucred peer{};
  socklen_t size = sizeof peer;
  const int buffer = largest_request;
  if (connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      getsockopt(server, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
      setsockopt(server, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer) == 0 && is_in_namespaces_of(peer.pid))
    return server;
  close(server);
  return -1;
}

bool send_request(int server, int argc, char** argv) {
  RankRequest request{.fixed = {}, .folder = std::filesystem::current_path(), .words = {argv, argv + argc}};
  request.fixed.arguments = request.words.size();
  for (char** variable = environ; *variable != nullptr; ++variable) request.words.emplace_back(*variable);
  request.fixed.mask = umask(0);
  umask(request.fixed.mask);
  sched_getaffinity(0, sizeof request.fixed.processors, &request.fixed.processors);
  for (int kind = 0; kind < RLIM_NLIMITS; ++kind)
    getrlimit(static_cast<__rlimit_resource>(kind), &request.fixed.limits[kind]);
  std::string text = request.text();
  RankMessage message(text.data(), text.size());
  cmsghdr* const passed = CMSG_FIRSTHDR(&message.header);
  passed->cmsg_level = SOL_SOCKET;
  passed->cmsg_type = SCM_RIGHTS;
  passed->cmsg_len = CMSG_LEN(RankMessage::descriptors);
  const std::array<int, 3> descriptors{0, 1, 2};
  std::memcpy(CMSG_DATA(passed), descriptors.data(), sizeof descriptors);
  return sendmsg(server, &message.header, MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

/// The signals that a process may take note of. SIGKILL ends the stand-in, and the server then kills the
/// rank.
sigset_t passed_signals() {
  sigset_t all;
  sigfillset(&all);
  for (const int kept : {SIGKILL, SIGSTOP, SIGCHLD, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGPIPE})
    sigdelset(&all, kept);
  return all;
}

[[noreturn]] void end_like(int status) {
  if (!WIFSIGNALED(status)) _exit(WEXITSTATUS(status));
  const int number = WTERMSIG(status);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  std::signal(number, SIG_DFL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, number);
  sigprocmask(SIG_UNBLOCK, &one, nullptr);
  raise(number);
  _exit(128 + number);
}

[[noreturn]] void wait_for_rank(int server) {
  const sigset_t passed = passed_signals();
  const int signals = signalfd(-1, &passed, SFD_CLOEXEC);
  for (;;) {
    std::array<pollfd, 2> waited{pollfd{server, POLLIN, 0}, pollfd{signals, POLLIN, 0}};
    if (poll(waited.data(), waited.size(), -1) < 0) continue;
    if (waited[0].revents != 0) {
      int status = 0;
      if (read(server, &status, sizeof status) == sizeof status) end_like(status);
      _exit(70);
    }
    signalfd_siginfo signal{};
    if (read(signals, &signal, sizeof signal) != sizeof signal) continue;
    const int number = static_cast<int>(signal.ssi_signo);
    if (send(server, &number, sizeof number, MSG_NOSIGNAL) < 0) _exit(70);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const pid_t parent = getppid();
  const auto program =
      std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "bin/tandem-rank";
  if (!needs_the_program(argc, argv)) {
    if (const int server = connect_to_server(); server >= 0) {
      const sigset_t passed = passed_signals();
      sigset_t before;
      sigprocmask(SIG_BLOCK, &passed, &before);
      if (send_request(server, argc, argv)) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(1);
        // Tests look for ranks by name.
        prctl(PR_SET_NAME, "rank-stand-in");
        wait_for_rank(server);
      }
      sigprocmask(SIG_SETMASK, &before, nullptr);
    }
  }
  execv(program.c_str(), argv);
  _exit(127);
}
