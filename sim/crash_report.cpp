#include "sim/crash_report.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstring>
#include <simgrid/s4u/Engine.hpp>
#include <string_view>

namespace tandem::sim {
namespace {

constexpr int exit_of_crash = 70;
constexpr std::array crash_signals{SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTRAP};

/// Text in fixed memory: a signal handler must not allocate any.
class FixedText {
 public:
  void add(std::string_view text) {
    const std::size_t count = std::min(text.size(), bytes_.size() - size_);
    std::memcpy(bytes_.data() + size_, text.data(), count);
    size_ += count;
  }
  void add(int value) { keep(std::to_chars(rest(), end(), value)); }
  void add(double value) { keep(std::to_chars(rest(), end(), value, std::chars_format::fixed, 6)); }
  void write_to(int file) const {
    // A message that cannot be written is lost.
    [[maybe_unused]] const ssize_t written = write(file, bytes_.data(), size_);
  }

 private:
  char* rest() { return bytes_.data() + size_; }
  char* end() { return bytes_.data() + bytes_.size(); }
  void keep(std::to_chars_result added) {
    if (added.ec == std::errc()) size_ = static_cast<std::size_t>(added.ptr - bytes_.data());
  }

  std::array<char, 512> bytes_{};
  std::size_t size_ = 0;
};

extern "C" void report_crash(int signal) {
  FixedText text;
  text.add("tandem: the simulation was ended by SIG");
  text.add(sigabbrev_np(signal));
  text.add(" after ");
  text.add(simgrid::s4u::Engine::get_clock());
  text.add(" s of simulated time");
  // The crash may have come between the two.
  if (last_operation.rank >= 0 && last_operation.name != nullptr) {
    text.add("; last operation: ");
    text.add(last_operation.name);
    text.add(" of rank ");
    text.add(last_operation.rank);
  }
  text.add(
      ". SimGrid, or a rank on it, crashed; its own messages are above, if it wrote any. `tandem show "
      "PLATFORM` "
      "notes what cannot be simulated\n");
  text.write_to(STDERR_FILENO);
  _exit(exit_of_crash);
}

}  // namespace

void report_crashes() {
  // On a stack of its own: that of the rank may have overflowed. Never freed, like the engine.
  constexpr std::size_t stack_size = 64 * 1024;
  void* const memory =
      mmap(nullptr, stack_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (memory != MAP_FAILED) {
    stack_t stack{};
    stack.ss_sp = memory;
    stack.ss_size = stack_size;
    sigaltstack(&stack, nullptr);
  }
  struct sigaction action {};
  action.sa_handler = report_crash;
  action.sa_flags = memory == MAP_FAILED ? 0 : SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (const int signal : crash_signals) sigaction(signal, &action, nullptr);
}

}  // namespace tandem::sim
