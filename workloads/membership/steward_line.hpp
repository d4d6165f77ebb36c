// The messages that a rank receives from the steward, one after the other.
#pragma once

#include <optional>
#include <utility>

#include "workloads/context.hpp"
#include "workloads/protocol.hpp"

namespace tandem {

/// One receive is posted at any time. Notes arrive in the order in which they were sent.
class StewardLine {
 public:
  /// `context` must outlive it.
  StewardLine(Context& context, Rank steward, Channel channel = protocol::channel<"membership">())
      : context_(context),
        steward_(steward),
        channel_(channel),
        next_(context.receive(steward, channel, {})) {}

  /// The receive of the next note; after a wait has emptied it, call expect_next().
  Pending& next() { return next_; }
  void expect_next() { next_ = context_.receive(steward_, channel_, {}); }
  /// Waits for the next note.
  Note wait() {
    if (kept_) return *std::exchange(kept_, std::nullopt);
    const Note note = context_.wait(next_).note;
    expect_next();
    return note;
  }
  /// `wait` returns this note again.
  void put_back(const Note& note) { kept_ = note; }
  /// No further note comes.
  void close() {
    context_.cancel(next_);
    context_.wait(next_);
  }
  Rank steward() const { return steward_; }

 private:
  Context& context_;
  Rank steward_;
  Channel channel_;
  Pending next_;
  std::optional<Note> kept_;
};

}  // namespace tandem
