#include "workloads/exchange/coordinator_client.hpp"

#include <utility>

namespace tandem {

namespace {

protocol::Report report_of(const protocol::Push& so_far, int version) {
  return {.version = version, .local_steps = so_far.local_steps, .duration = so_far.duration};
}

}  // namespace

sync::Answer CoordinatorClient::ask(const protocol::Push& so_far, int version) {
  Pending answer = protocol::receive<"answers">(context_, coordinator_);
  send(report_of(so_far, version));
  const bool ready = protocol::unpack<protocol::Answer>(context_.wait(answer).note).ready;
  return {.now = context_.now(), .ready = ready};
}

void CoordinatorClient::push(protocol::Push push, int version) {
  push.version = version;
  send(push);
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
  on_answer(protocol::unpack<protocol::Answer>(note));
}

void CoordinatorClient::join(int incarnation) {
  Pending arrival =
      protocol::send<"arrivals">(context_, coordinator_, protocol::Arrived{.incarnation = incarnation});
  // A coordinator that has not noticed a departure welcomes the worker that is gone.
  int welcomed = 0;
  while (welcomed != incarnation) {
    Pending welcome = protocol::receive<"welcomes">(context_, coordinator_);
    welcomed = protocol::unpack<protocol::Welcome>(context_.wait(welcome).note).incarnation;
  }
  reply();
  context_.wait(arrival);
}

void CoordinatorClient::leave() {
  send(protocol::Leave{});
  close();
}

void CoordinatorClient::send(const protocol::NoteOf<"pushes">& note) {
  if (!question_.empty()) context_.wait(question_);
  question_ = protocol::send<"pushes">(context_, coordinator_, note, {}, bucket_);
}

void CoordinatorClient::report(const protocol::Push& so_far, int version) {
  answers_.push_back(protocol::receive<"answers">(context_, coordinator_));
  send(report_of(so_far, version));
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

void CoordinatorClient::listen_for_cancels() {
  if (awaits_cancels_ && cancel_.empty()) cancel_ = protocol::receive<"cancels">(context_, coordinator_);
}

/// A note that meets the end of its step comes too late and is ignored, as its version is older.
bool CoordinatorClient::is_cancelled() {
  while (!cancel_.empty() && context_.is_done(cancel_)) {
    cancelled_ = protocol::unpack<protocol::Cancel>(context_.wait(cancel_).note).version;
    listen_for_cancels();
  }
  return cancelled_ == version_;
}

/// An answer to a report of an earlier round is ignored.
void CoordinatorClient::on_answer(const protocol::Answer& answer) {
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
  if (cancel_.empty()) return;
  context_.cancel(cancel_);
  context_.wait(cancel_);
}

}  // namespace tandem
