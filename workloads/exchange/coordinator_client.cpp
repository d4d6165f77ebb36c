#include "workloads/exchange/coordinator_client.hpp"

#include <bit>
#include <utility>

namespace tandem {

Note CoordinatorClient::note_of(protocol::Kind kind, const Contribution& contribution, int version) {
  return {.kind = kind,
          .version = version,
          .samples = contribution.samples,
          .local_steps = contribution.local_steps,
          .duration_s = contribution.duration.count(),
          .value = std::bit_cast<std::int64_t>(contribution.loss)};
}

bool CoordinatorClient::ask(const Contribution& contribution, int version) {
  Pending answer = context_.receive(coordinator_, protocol::answers, {});
  tell(note_of(protocol::report, contribution, version));
  return context_.wait(answer).note.value == 1;
}

void CoordinatorClient::push(const Contribution& contribution, int version) {
  tell(note_of(protocol::push, contribution, version));
}

Note CoordinatorClient::reply() {
  Pending reply = context_.receive(coordinator_, protocol::from_server, {});
  const Note note = context_.wait(reply).note;
  begin_round(note.version);
  return note;
}

void CoordinatorClient::leave() {
  tell({.kind = protocol::leave});
  close();
}

void CoordinatorClient::tell(const Note& note) {
  if (!question_.empty()) context_.wait(question_);
  question_ = context_.send(coordinator_, protocol::to_server, {}, note);
}

void CoordinatorClient::report(const Contribution& contribution, int version) {
  answers_.push_back(context_.receive(coordinator_, protocol::answers, {}));
  tell(note_of(protocol::report, contribution, version));
}

void CoordinatorClient::wait_progressing(Pending& until) {
  auto& [answer, awaited] = either_;
  awaited = std::move(until);
  while (!answers_.empty()) {
    answer = std::move(answers_.front());
    const Completion done = context_.wait_any(either_);
    if (awaited.empty()) {
      answers_.front() = std::move(answer);
      return;
    }
    answers_.pop_front();
    hear(done.note);
  }
  context_.wait(awaited);
}

/// One that speaks of a round gone by says nothing.
void CoordinatorClient::hear(const Note& answer) {
  if (answer.version == version_) told_ = told_.value_or(false) || answer.value == 1;
}

void CoordinatorClient::begin_round(int version) {
  version_ = version;
  told_.reset();
}

void CoordinatorClient::close() {
  if (!question_.empty()) context_.wait(question_);
  for (Pending& answer : answers_) context_.wait(answer);
  answers_.clear();
}

}  // namespace tandem
