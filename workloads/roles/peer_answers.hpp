// What a cache node sends to other cache nodes. Many of them may ask at the same time: their answers leave a
// few at a time, in the order in which they are complete, so the first ones arrive early and the others no
// later than if all shared the link of the node.
#pragma once

#include <deque>

#include "workloads/context.hpp"
#include "workloads/protocol.hpp"
#include "workloads/roles/sample_message.hpp"

namespace tandem {

class PeerAnswers {
 public:
  /// While less than this is on its way, the next answer is sent.
  static constexpr Bytes most{256 << 10};
  explicit PeerAnswers(Context& context) : context_(context) {}
  /// The message must stay until `finish` has returned it.
  void add(Rank to, SampleMessage& message, const protocol::Found& found);
  /// Puts the send of the oldest answer on its way into `wait`, if that is empty and there is one.
  void put_next(Pending& wait);
  /// The oldest answer. Pre: the send that put_next gave has ended, and was waited for.
  SampleMessage& finish();
  bool is_empty() const { return ready_.empty() && leaving_.empty(); }

 private:
  struct Answer {
    Rank to;
    SampleMessage* message;
    protocol::Found found;
  };
  void send_next();

  Context& context_;
  std::deque<Answer> ready_;
  std::deque<SampleMessage*> leaving_;
  Bytes on_the_way_{0};
};

}  // namespace tandem
