// Scripts of a ReplySender, and all orders of what may happen during a reply.
#include "workloads/roles/server/reply_sender.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace tandem {
namespace TANDEM_FILE {
namespace {

std::string sent_now(ReplySender& sender, int worker) {
  std::string sent;
  while (const auto piece = sender.next_piece(worker)) sent += std::to_string(*piece);
  return sent;
}

TEST(ReplySender, SendsFromTheLastPieceToTheFirst) {
  ReplySender sender(1, false);
  sender.begin(0, {0, 2});
  EXPECT_FALSE(sender.awaited_request(0));
  EXPECT_EQ(sent_now(sender, 0), "");
  sender.reply(0, {.version = 4});
  EXPECT_EQ(sent_now(sender, 0), "210");
  EXPECT_EQ(sent_now(sender, 0), "");
  EXPECT_FALSE(sender.has_unsent(0));
  EXPECT_EQ(sender.note(0).version, 4);
}

TEST(ReplySender, SendsWhatTheWorkerAsksFor) {
  ReplySender sender(1, true);
  sender.begin(0, {1, 2});
  EXPECT_EQ(sender.awaited_request(0), 2U);
  sender.reply(0, {});
  EXPECT_EQ(sent_now(sender, 0), "");
  sender.on_request(0);
  EXPECT_EQ(sender.awaited_request(0), 1U);
  EXPECT_EQ(sent_now(sender, 0), "2");
  EXPECT_TRUE(sender.has_unsent(0));
  sender.on_request(0);
  EXPECT_FALSE(sender.awaited_request(0));
  EXPECT_EQ(sent_now(sender, 0), "1");
}

/// The policy replies, the worker asks for each of three pieces, and a commit holds replies for a while, in
/// any order: each piece is sent once, as soon as it is asked for and decided and not held.
TEST(ReplySender, InAnyOrderEachPieceIsSentOnceWhenItMayBe) {
  std::string events = "aaahrs";  // ask, hold, reply, send on
  std::ranges::sort(events);
  int orders = 0;
  do {
    if (events.find('h') > events.find('s')) continue;
    ++orders;
    ReplySender sender(1, true);
    sender.begin(0, {0, 2});
    std::size_t asked = 0;
    bool is_held = false, is_decided = false;
    std::string sent;
    for (const char event : events) {
      if (event == 'a') sender.on_request(0);
      if (event == 'h') sender.hold(true);
      if (event == 'r') sender.reply(0, {.version = 1});
      if (event == 's') sender.hold(false);
      asked += event == 'a' ? 1 : 0;
      is_decided = is_decided || event == 'r';
      is_held = event == 'h' || (is_held && event != 's');
      const std::size_t before = sent.size();
      sent += sent_now(sender, 0);
      const bool may_send = is_decided && !is_held;
      EXPECT_EQ(sent.size(), may_send ? asked : before) << events << ' ' << event;
      EXPECT_EQ(sender.has_unsent(0), is_decided && sent.size() < 3) << events << ' ' << event;
    }
    EXPECT_EQ(sent, "210") << events;
  } while (std::ranges::next_permutation(events).found);
  EXPECT_EQ(orders, 6 * 5 * 4 / 2);
}

TEST(ReplySender, ACommitThatIsWrittenIsAnnouncedWithTheRepliesThatWaitForIt) {
  ReplySender sender(2, false);
  for (const int worker : {0, 1}) sender.begin(worker, {0, 0});
  sender.hold(true);
  sender.reply(0, {.commit_round = 3});
  EXPECT_EQ(sent_now(sender, 0), "");
  sender.confirm(6);
  sender.hold(false);
  EXPECT_EQ(sent_now(sender, 0), "0");
  EXPECT_EQ(sender.note(0).commit_round, 6);
  EXPECT_EQ(sent_now(sender, 1), "");
}

TEST(ReplySender, AReplyToAPartOfAPushLeavesTheWorkerWaiting) {
  ReplySender sender(1, false);
  sender.begin(0, {0, 0});
  sender.reply_to_part(0);
  EXPECT_EQ(sent_now(sender, 0), "0");
  sender.begin(0, {1, 1});
  sender.on_push(0, 0);
  EXPECT_TRUE(sender.awaits_reply(0));
  EXPECT_EQ(sent_now(sender, 0), "");
  sender.reply(0, {.version = 1});
  EXPECT_FALSE(sender.awaits_reply(0));
  EXPECT_TRUE(sender.have_all(1));
}

TEST(ReplySender, AnswersSayWhichReportTheyAreFor) {
  ReplySender sender(2, false);
  sender.on_report(0, 5);
  sender.on_report(0, 6);
  EXPECT_FALSE(sender.has_answered_all());
  EXPECT_EQ(sender.answer(0, false).version, 6);
  EXPECT_TRUE(sender.awaits_answer(0));
  EXPECT_TRUE(sender.answer(0, true).ready);
  EXPECT_TRUE(sender.has_answered_all());
  // Nobody waits for a worker that is gone, nor for what it has asked.
  sender.on_report(1, 6);
  sender.on_push(1, 0);
  sender.forget(1);
  EXPECT_TRUE(sender.has_answered_all());
}

TEST(ReplySender, KnowsWhichVersionEachWorkerHas) {
  ReplySender sender(2, false);
  sender.resume_at(4);
  EXPECT_TRUE(sender.have_all(4));
  sender.begin(0, {0, 0});
  sender.reply(0, {.version = 5});
  EXPECT_FALSE(sender.have_all(5));
  sender.begin_at(1, 5);
  EXPECT_TRUE(sender.have_all(5));
}

/// It starts with the servers' model and its version, so that a reply by which it keeps its model has none.
TEST(ReplySender, SendsNoModelToAResumedWorkerThatKeepsItsOwn) {
  ReplySender sender(2, false, true);
  sender.resume_at(7);
  sender.begin(0, {0, 0});
  sender.on_push(0, 7);
  sender.reply(0, {.version = sender.version(0)});
  EXPECT_FALSE(sender.brings_model(0));
  EXPECT_EQ(sender.note(0).version, 7);
}

TEST(ReplySender, OmitsAModelThatTheWorkerHas) {
  for (const bool omits : {false, true}) {
    ReplySender sender(1, false, omits);
    const auto brings_model = [&](int pushed, int replied) {
      sender.begin(0, {0, 0});
      sender.on_push(0, pushed);
      sender.reply(0, {.version = replied});
      return sender.brings_model(0);
    };
    EXPECT_EQ(brings_model(4, 4), !omits);
    EXPECT_TRUE(brings_model(4, 5));
    sender.begin_at(0, 5);
    sender.reply(0, {.version = 5});
    EXPECT_TRUE(sender.brings_model(0)) << "a newcomer has no model";
  }
}

}  // namespace
}  // namespace TANDEM_FILE
}  // namespace tandem
