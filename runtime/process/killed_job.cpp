#include "runtime/process/killed_job.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>
#include <system_error>

#include "runtime/process/mpi_sessions.hpp"
#include "runtime/process/process_list.hpp"
#include "runtime/process/shared_memory.hpp"

namespace tandem {
namespace {

constexpr const char* variable = "TANDEM_LAUNCHER";
/// mpirun and ranks end within a second when their launcher is killed, unless the machine is very busy.
constexpr Seconds limit{60.0}, pause{0.05};

void remove_abandoned() {
  for (const auto& file : abandoned_shared_memory()) {
    std::error_code stays;
    std::filesystem::remove(file, stays);
  }
  for (const auto& session : abandoned_mpi_sessions()) {
    try {
      remove_mpi_session(session);
    } catch (const std::filesystem::filesystem_error&) {
      // `tandem clean` says why it stays.
    }
  }
}

/// All but standard input, output and error, and one more, unless it is -1.
void close_others(int kept) {
  constexpr unsigned first = STDERR_FILENO + 1, last = std::numeric_limits<unsigned>::max();
  const auto number = static_cast<unsigned>(kept);
  if (kept < 0) {
    close_range(first, last, 0);
    return;
  }
  if (number > first) close_range(first, number - 1, 0);
  close_range(number + 1, last, 0);
}

/// Runs in the other process. It closes everything of the launcher, except the memory.
int guard(int life, const std::string& launcher, CommitMemory* memory) {
  prctl(PR_SET_PDEATHSIG, 0);
  prctl(PR_SET_NAME, "tandem-guard");
  if (dup2(life, STDIN_FILENO) < 0) return EXIT_FAILURE;
  close_others(memory == nullptr ? -1 : memory->descriptor());
  char nothing = 0;
  while (read(STDIN_FILENO, &nothing, 1) > 0) continue;
  for (Seconds waited{}; waited < limit; waited += pause) {
    if (processes_with_variable(launcher).empty()) break;
    usleep(static_cast<useconds_t>(pause.count() * 1e6));
  }
  remove_abandoned();
  if (memory != nullptr) memory->end();
  return EXIT_SUCCESS;
}

Process start_guard(Descriptor& life, CommitMemory* memory) {
  const std::string identity = process_identity(getpid());
  setenv(variable, identity.c_str(), 1);
  Pipe pipe = make_pipe();
  life = std::move(pipe.write_end);
  const Descriptor nowhere = create_file("/dev/null");
  sigset_t all;
  sigfillset(&all);
  return start_function(
      [&] { return guard(pipe.read_end.number(), std::string(variable) + '=' + identity, memory); },
      {.output = nowhere.number(), .own_group = true, .blocked_signals = all});
}

}  // namespace

KilledJobGuard::KilledJobGuard(CommitMemory* memory) : memory_(memory), guard_(start_guard(life_, memory)) {}

KilledJobGuard::~KilledJobGuard() {
  if (memory_ != nullptr) memory_->end();
}

}  // namespace tandem
