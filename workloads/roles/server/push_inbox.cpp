#include "workloads/roles/server/push_inbox.hpp"

namespace tandem {

PushInbox::Action PushInbox::on_note(int worker, const protocol::Push& push) {
  Line& line = at(worker);
  line.push = push;
  line.next_piece = expected(worker).first;
  return on_piece(worker);
}

PushInbox::Action PushInbox::on_piece(int worker) {
  Line& line = at(worker);
  if (line.next_piece < expected(worker).last) return AwaitPiece{line.next_piece++};
  return Complete{*std::exchange(line.push, std::nullopt)};
}

std::size_t PushInbox::begin_answer(int worker) {
  Line& line = at(worker);
  return std::exchange(line.key, (line.key + 1) % keys_.size());
}

std::optional<protocol::Push> PushInbox::on_gone(int worker, const std::optional<Note>& last, bool is_whole) {
  auto push = std::exchange(at(worker).push, std::nullopt);
  if (!push && last) push = protocol::as<protocol::Push>(*last);
  return is_whole ? push : std::nullopt;
}

}  // namespace tandem
