// A worker's words with the coordinator: questions that wait for their answer, and reports that do not.
#pragma once

#include <array>
#include <deque>
#include <optional>

#include "workloads/context.hpp"
#include "workloads/exchange/exchange.hpp"
#include "workloads/protocol.hpp"

namespace tandem {

class CoordinatorClient {
 public:
  CoordinatorClient(Context& context, Rank coordinator) : context_(context), coordinator_(coordinator) {}

  /// What rides on a push. `version`: of the model that the contribution was computed on.
  static Note note_of_push(const Contribution& contribution, int version);

  /// Asks, and waits for the answer.
  bool ask(const Contribution& contribution, int version);
  /// Asks, and goes on. The answer is heard while this worker waits for something else.
  void report(const Contribution& contribution, int version);
  /// Over an all-reduce: tells that this worker exchanges; what the server would send with the model; that
  /// this worker has ended.
  void push(const Contribution& contribution, int version);
  protocol::Reply reply();
  void leave();
  /// What was heard since the last exchange; ready once it was said.
  std::optional<bool> coordinator_answer() const { return told_; }
  /// Waits for `until`, and listens.
  void wait_progressing(Pending& until);
  /// The exchange has ended in this version of the model; what was said before means nothing any more.
  void begin_round(int version);
  /// Hears all that is still to come.
  void close();

 private:
  void tell(const Note& note);
  void hear(const protocol::Answer& answer);

  Context& context_;
  Rank coordinator_;
  int version_ = 0;
  std::optional<bool> told_;
  std::deque<Pending> answers_;  ///< still to come, in the order of the reports
  Pending question_;             ///< or what else was told last
  /// The next answer, and what overlap waits for: in this order, since that may be done already.
  std::array<Pending, 2> either_;
};

}  // namespace tandem
