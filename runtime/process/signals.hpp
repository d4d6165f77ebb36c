// Signals that ask a program to end, held back while it has processes or devices to clean up.
#pragma once

#include <signal.h>

#include <initializer_list>
#include <optional>

#include "policies/vocabulary/units.hpp"
#include "runtime/process/descriptor.hpp"

namespace tandem {

/// Ctrl-C, kill, and a terminal that is closed.
inline constexpr std::initializer_list<int> ending_signals = {SIGINT, SIGTERM, SIGHUP};

/// Notifies all ranks of a job that it will be ended; they may commit their state first.
inline constexpr int end_signal = SIGUSR2;

/// Blocks signals in this thread, except those that this process ignores (nohup, for example). The destructor
/// restores the mask, and a signal that is still pending is then delivered. Blocks may be nested.
class BlockedSignals {
 public:
  explicit BlockedSignals(std::initializer_list<int> signals);
  ~BlockedSignals();
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

  const sigset_t& blocked() const { return blocked_; }
  /// The mask for programs that are started while signals are blocked: they receive these signals.
  sigset_t mask_of_children() const;
  bool any_pending() const;

 private:
  sigset_t blocked_{};
  sigset_t mask_before_{};
};

/// Blocks signals and returns them one by one instead.
class SignalReader {
 public:
  /// Errors: WorldError when the system has no descriptor left.
  explicit SignalReader(std::initializer_list<int> signals);

  /// To poll.
  int descriptor() const { return descriptor_.number(); }
  sigset_t mask_of_children() const { return signals_.mask_of_children(); }
  /// The next signal that has arrived, if any. Does not block.
  std::optional<int> next() const;
  /// Blocks until a signal has arrived or `limit` has passed.
  void wait_for(Seconds limit) const;

 private:
  BlockedSignals signals_;
  Descriptor descriptor_;
};

}  // namespace tandem
