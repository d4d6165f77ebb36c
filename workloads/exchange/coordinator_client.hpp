// A worker's messages to the coordinator: questions, which wait for the answer, and reports, which do not.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>

#include "workloads/context.hpp"
#include "workloads/exchange/exchange.hpp"
#include "workloads/protocol.hpp"

namespace tandem {

class CoordinatorClient {
 public:
  /// `bucket`: of the channel on which the coordinator expects this worker's notes. `awaits_cancels`: the
  /// coordinator may stop steps.
  CoordinatorClient(Context& context, Rank coordinator, std::int32_t bucket = Channel::no_bucket,
                    bool awaits_cancels = false)
      : context_(context), coordinator_(coordinator), bucket_(bucket), awaits_cancels_(awaits_cancels) {}

  /// Asks, and waits for the answer. `so_far`: the push that the worker would send now. `version`: of the
  /// model that it was computed on.
  sync::Answer ask(const protocol::Push& so_far, int version);
  /// Asks without waiting. The answer is received while the worker waits for other operations.
  void report(const protocol::Push& so_far, int version);
  /// Over an all-reduce: announces that this worker exchanges. The next two receive the reply that a server
  /// would send with the model, and announce that this worker has ended.
  void push(protocol::Push push, int version);
  protocol::Reply reply();
  /// Over an all-reduce: a worker that joins announces itself, and waits until the coordinator expects it.
  void join(int incarnation);
  /// reply() in two parts: the receive of the reply, and the contents of its note.
  Pending expect_reply() { return protocol::receive<"replies">(context_, coordinator_); }
  protocol::Reply take_reply(const Note& note);
  /// The receive of the next answer to a report; null without one. The next function handles its note.
  Pending* next_answer() { return answers_.empty() ? nullptr : &answers_.front(); }
  void take_answer(const Note& note);
  void leave();
  /// All answers since the last exchange together: ready if one of them was.
  std::optional<bool> coordinator_answer() const { return answer_; }
  /// Receives notes that stop steps from now on.
  void listen_for_cancels();
  /// Whether the coordinator has stopped the steps on the model of this round. Never blocks.
  bool is_cancelled();
  /// Waits for `until`, and receives answers meanwhile.
  Completion wait_progressing(Pending& until);
  /// The exchange has ended with this version of the model; earlier answers are void.
  void begin_round(int version);
  /// Receives all outstanding answers, and listens no longer.
  void close();

 private:
  void send(const protocol::NoteOf<"pushes">& note);
  void on_answer(const protocol::Answer& answer);

  Context& context_;
  Rank coordinator_;
  std::int32_t bucket_;
  bool awaits_cancels_;
  Pending cancel_;      ///< the receive of the next one
  int cancelled_ = -1;  ///< newest version on which steps are stopped
  int version_ = 0;
  std::optional<bool> answer_;
  std::deque<Pending> answers_;  ///< outstanding, in the order of the reports
  Pending question_;             ///< or the last other message to the coordinator
  /// The next answer, and the operation of wait_progressing. In this order, so that an answer that has
  /// arrived is handled first.
  std::array<Pending, 2> either_;
};

}  // namespace tandem
