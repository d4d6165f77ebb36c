// Scripts of a PushInbox: what arrives, and which message is awaited next.
#include "workloads/roles/server/push_inbox.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tandem {
namespace TANDEM_FILE {
namespace {

std::string words(const PushInbox::Action& action) {
  if (const auto* lacking = std::get_if<PushInbox::AwaitPiece>(&action))
    return "await " + std::to_string(lacking->piece);
  return "push " + std::to_string(std::get<PushInbox::Complete>(action).push.version);
}

Note note_of(const protocol::Push& push) { return protocol::NoteOf<"pushes">(push).note(); }

TEST(PushInbox, AwaitsThePiecesThatTheNoteHasOvertaken) {
  PushInbox inbox({{0, 2}}, 2);
  EXPECT_EQ(words(inbox.on_note(0, {.version = 7})), "await 0");
  EXPECT_TRUE(inbox.lacks_piece(0));
  // Another worker's push is its own.
  EXPECT_FALSE(inbox.lacks_piece(1));
  EXPECT_EQ(words(inbox.on_note(1, {.version = 8})), "await 0");
  EXPECT_EQ(words(inbox.on_piece(0)), "await 1");
  EXPECT_EQ(words(inbox.on_piece(0)), "push 7");
  EXPECT_FALSE(inbox.lacks_piece(0));
  EXPECT_TRUE(inbox.lacks_piece(1));
}

TEST(PushInbox, APushOfOnePieceIsCompleteWithItsNote) {
  PushInbox inbox({{0, 0}}, 1);
  EXPECT_EQ(words(inbox.on_note(0, {.version = 3})), "push 3");
}

TEST(PushInbox, KeysFollowEachOther) {
  PushInbox inbox({{0, 0}, {1, 2}, {3, 3}}, 2);
  std::vector<std::size_t> keys;
  for (int round = 0; round < 2; ++round)
    for (const char* const expected : {"push 1", "await 1", "push 1"}) {
      EXPECT_EQ(words(inbox.on_note(0, {.version = 1})), expected);
      if (inbox.lacks_piece(0)) {
        EXPECT_EQ(words(inbox.on_piece(0)), "push 1");
      }
      keys.push_back(inbox.begin_answer(0));
    }
  EXPECT_EQ(keys, (std::vector<std::size_t>{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(inbox.key(1), 0U);
}

TEST(PushInbox, ThePushOfALostWorkerCountsOnlyIfAllOfItHasArrived) {
  for (const bool has_note : {false, true})
    for (const bool is_whole : {false, true}) {
      PushInbox inbox({{0, 1}}, 1);
      const auto last = has_note ? std::optional(note_of({.version = 5})) : std::nullopt;
      EXPECT_EQ(inbox.on_gone(0, last, is_whole).has_value(), has_note && is_whole);
    }
}

TEST(PushInbox, TheNoteOfALostWorkerMayHaveArrivedBeforeItsLastPiece) {
  PushInbox inbox({{0, 2}}, 1);
  EXPECT_EQ(words(inbox.on_note(0, {.version = 5})), "await 0");
  // The message that was awaited is a piece.
  const auto push = inbox.on_gone(0, Note{}, true);
  ASSERT_TRUE(push);
  EXPECT_EQ(push->version, 5);
  EXPECT_FALSE(inbox.lacks_piece(0));
}

TEST(PushInbox, AnotherMessageOfALostWorkerIsNoPush) {
  PushInbox inbox({{0, 0}}, 1);
  EXPECT_FALSE(inbox.on_gone(0, protocol::NoteOf<"pushes">(protocol::Leave{}).note(), true));
}

}  // namespace
}  // namespace TANDEM_FILE
}  // namespace tandem
