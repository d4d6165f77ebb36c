#include "workloads/exchange/coordinator_client.hpp"

#include <utility>

namespace tandem {

namespace {

Note note_of_report(const Contribution& contribution, int version) {
  return protocol::pack(protocol::Report{
      .version = version, .local_steps = contribution.local_steps, .duration = contribution.duration});
}

}  // namespace

Note CoordinatorClient::note_of_push(const Contribution& contribution, int version,
                                     std::int32_t commit_round) {
  return protocol::pack(protocol::Push{.version = version,
                                       .samples = contribution.samples,
                                       .local_steps = contribution.local_steps,
                                       .commit_round = commit_round,
                                       .duration = contribution.duration,
                                       .loss = contribution.loss});
}

sync::Answer CoordinatorClient::ask(const Contribution& contribution, int version) {
  Pending answer = context_.receive(coordinator_, protocol::answers, {});
  tell(note_of_report(contribution, version));
  const bool ready = protocol::unpack<protocol::Answer>(context_.wait(answer).note).ready;
  return {.now = context_.now(), .ready = ready};
}

void CoordinatorClient::push(const Contribution& contribution, int version) {
  tell(note_of_push(contribution, version, static_cast<std::int32_t>(contribution.commit_round)));
}

protocol::Reply CoordinatorClient::reply() {
  Pending arriving = expect_reply();
  return take_reply(context_.wait(arriving).note);
}

protocol::Reply CoordinatorClient::take_reply(const Note& note) {
  const auto reply = protocol::unpack<protocol::Reply>(note);
  begin_round(reply.version);
  return reply;
}

void CoordinatorClient::take_answer(const Note& note) {
  answers_.pop_front();
  hear(protocol::unpack<protocol::Answer>(note));
}

void CoordinatorClient::join(int incarnation) {
  Pending arrival = context_.send(coordinator_, protocol::arrivals, {},
                                  protocol::pack(protocol::Arrived{.incarnation = incarnation}));
  // A coordinator that has not noticed a departure welcomes the worker that is gone.
  int welcomed = 0;
  while (welcomed != incarnation) {
    Pending welcome = context_.receive(coordinator_, protocol::welcomes, {});
    welcomed = protocol::unpack<protocol::Welcome>(context_.wait(welcome).note).incarnation;
  }
  reply();
  context_.wait(arrival);
}

void CoordinatorClient::leave() {
  tell(protocol::pack(protocol::Leave{}));
  close();
}

void CoordinatorClient::tell(const Note& note) {
  if (!question_.empty()) context_.wait(question_);
  question_ = context_.send(coordinator_, protocol::to_server, {}, note);
}

void CoordinatorClient::report(const Contribution& contribution, int version) {
  answers_.push_back(context_.receive(coordinator_, protocol::answers, {}));
  tell(note_of_report(contribution, version));
}

Completion CoordinatorClient::wait_progressing(Pending& until) {
  auto& [answer, awaited] = either_;
  awaited = std::move(until);
  while (!answers_.empty()) {
    answer = std::move(answers_.front());
    const Completion done = context_.wait_any(either_);
    if (awaited.empty()) {
      answers_.front() = std::move(answer);
      return done;
    }
    take_answer(done.note);
  }
  return context_.wait(awaited);
}

/// An answer to a report of an earlier round is ignored.
void CoordinatorClient::hear(const protocol::Answer& answer) {
  if (answer.version == version_) answer_ = answer_.value_or(false) || answer.ready;
}

void CoordinatorClient::begin_round(int version) {
  version_ = version;
  answer_.reset();
}

void CoordinatorClient::close() {
  if (!question_.empty()) context_.wait(question_);
  for (Pending& answer : answers_) context_.wait(answer);
  answers_.clear();
}

}  // namespace tandem
