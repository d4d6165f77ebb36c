#include "workloads/roles/cache/directory_line.hpp"

#include "policies/vocabulary/check.hpp"

namespace tandem {

Slice DirectoryLine::slice_of(std::vector<SampleId>& ids) const {
  return {Bytes(static_cast<std::int64_t>(ids.size() * sizeof(SampleId))),
          reinterpret_cast<std::byte*>(ids.data())};
}

void DirectoryLine::ask(AskDirectory question) {
  Question& own = questions_.emplace_back(Question{.ids = std::move(question.ids)});
  own.locations.resize(own.ids.size());
  const auto samples = std::ssize(own.ids);
  own.answer = protocol::receive<"holders">(context_, directory_,
                                            {Bytes(samples * static_cast<std::int64_t>(sizeof(std::int32_t))),
                                             reinterpret_cast<std::byte*>(own.locations.data())});
  own.sent = protocol::send<"directory">(
      context_, directory_, protocol::LookUp{static_cast<std::int32_t>(samples)}, slice_of(own.ids));
}

void DirectoryLine::notify(NotifyDirectory message) {
  drop_sent();
  Message& own = messages_.emplace_back(Message{.ids = std::move(message.ids)});
  own.send = protocol::send<"directory">(context_, directory_, message.note, slice_of(own.ids));
}

void DirectoryLine::put_next(Pending& wait) {
  if (wait.empty() && !questions_.empty()) wait = std::move(questions_.front().answer);
}

DirectoryLine::Answer DirectoryLine::take_answer(const Note& note) {
  Question question = std::move(questions_.front());
  questions_.pop_front();
  context_.wait(question.sent);
  return {protocol::unpack<protocol::Located>(note), std::move(question.locations)};
}

void DirectoryLine::drop_sent() {
  while (!messages_.empty() && context_.is_done(messages_.front().send)) {
    context_.wait(messages_.front().send);
    messages_.pop_front();
  }
}

void DirectoryLine::close() {
  TANDEM_CHECK(questions_.empty(), "questions", questions_.size());
  notify({{}, protocol::End{}});
  for (Message& message : messages_) context_.wait(message.send);
  messages_.clear();
}

}  // namespace tandem
