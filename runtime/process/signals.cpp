#include "runtime/process/signals.hpp"

#include <sys/poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "policies/vocabulary/check.hpp"

namespace tandem {

BlockedSignals::BlockedSignals(std::initializer_list<int> signals) {
  sigemptyset(&blocked_);
  for (const int signal : signals) {
    struct sigaction action = {};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler != SIG_IGN) sigaddset(&blocked_, signal);
  }
  pthread_sigmask(SIG_BLOCK, &blocked_, &mask_before_);
}

BlockedSignals::~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr); }

sigset_t BlockedSignals::mask_of_children() const {
  sigset_t mask = mask_before_;
  for (int signal = 1; signal < NSIG; ++signal)
    if (sigismember(&blocked_, signal) == 1) sigdelset(&mask, signal);
  return mask;
}

bool BlockedSignals::any_pending() const {
  sigset_t pending;
  sigset_t wanted;
  sigpending(&pending);
  sigandset(&wanted, &pending, &blocked_);
  return sigisemptyset(&wanted) == 0;
}

SignalReader::SignalReader(std::initializer_list<int> signals)
    : signals_(signals), descriptor_(signalfd(-1, &signals_.blocked(), SFD_CLOEXEC | SFD_NONBLOCK)) {
  if (!descriptor_.is_open()) throw WorldError("cannot open a descriptor for signals");
}

std::optional<int> SignalReader::next() const {
  signalfd_siginfo info{};
  if (read(descriptor_.number(), &info, sizeof(info)) != static_cast<ssize_t>(sizeof(info)))
    return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

void SignalReader::wait_for(Seconds limit) const {
  pollfd arrival{descriptor(), POLLIN, 0};
  poll(&arrival, 1, static_cast<int>(1e3 * limit.count()));
}

}  // namespace tandem
