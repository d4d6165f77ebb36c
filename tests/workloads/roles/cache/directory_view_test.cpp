// What a cache node knows from the directory, in orders of events that matter.
#include "workloads/roles/cache/directory_view.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/cached_job.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/workloads/roles/cache/played_node.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::Ids;
using testing::PlayedNode;

class DirectoryViews : public ::testing::Test {
 protected:
  static constexpr int samples = 600;
  static Experiment asking() {
    Experiment experiment = testing::cached_experiment("synthetic", samples, 6);
    experiment.placement.workers = {"a", "a"};
    experiment.placement.cache_nodes = {"b", "c"};
    experiment.placement.stores = {"d"};
    experiment.placement.directory = "d";
    experiment.data.cache = "lru";
    experiment.data.cache_capacity = Bytes(2 * 785);
    experiment.data.peers = Peers::directory;
    experiment.data.copies = 1;
    return experiment;
  }
  /// For each sample of the oldest lookup: the node that holds it (-1: none), and whether this one may keep
  /// it.
  std::optional<std::size_t> answer(const std::vector<protocol::Location>& locations,
                                    std::int64_t moment = 0) {
    std::vector<std::int32_t> numbers;
    for (const protocol::Location& location : locations) numbers.push_back(location.number());
    return view_.answer({.samples = static_cast<std::int32_t>(numbers.size()), .moment = moment}, numbers,
                        {});
  }
  std::string look_up(std::size_t client, const Ids& ids) {
    return node_.perform(view_.look_up(client, ids, 0, {}));
  }
  std::string note(const Ids& published, const Ids& withdrawn) {
    CacheActions actions;
    view_.note(published, withdrawn, 0, actions);
    return node_.perform(std::move(actions));
  }
  std::string send_updates() { return node_.perform(view_.send_updates()); }

  testing::TemporaryFolder folder_;
  Job job_{asking(), testing::hosts_with_disks("directory_view_test", {"a", "b", "c", "d"}),
           folder_.path().string()};
  PlayedNode node_{job_};
  DirectoryView& view_ = node_.service.directory();
};

TEST_F(DirectoryViews, EachSampleThatTheNodeLacksIsAskedForOnce) {
  EXPECT_EQ(view_.unknown(0, Ids{1, 2, 1}), (Ids{1, 2}));
  EXPECT_EQ(look_up(0, {1, 2}), "ask 1 2");
  EXPECT_TRUE(view_.awaits(1));
  EXPECT_EQ(answer({{.holder = 1}, {.may_keep = true}}, 7), 0U);
  EXPECT_EQ(view_.unknown(0, Ids{1, 2, 1}), Ids());
  const auto known = view_.take(0);
  EXPECT_TRUE(known.has_waited);
  EXPECT_EQ(known.moment, 7);
  ASSERT_EQ(known.holders.size(), 3U) << "the second one twice: who has it, and that this node may keep it";
  EXPECT_EQ(known.holders[0].node, 1);
  EXPECT_EQ(known.holders[1].node, -1);
  EXPECT_EQ(known.holders[2].node, 0);
  EXPECT_FALSE(view_.awaits(1));
  EXPECT_FALSE(view_.take(0).has_waited);
}

/// The directory learns of it after it has answered: the node would keep the sample without an entry there.
TEST_F(DirectoryViews, AnAnswerDoesNotHoldForWhatWasWithdrawnMeanwhile) {
  look_up(0, {1, 2});
  note({}, {2});
  answer({{.holder = 1}, {.may_keep = true}});
  EXPECT_EQ(view_.unknown(0, Ids{1, 2}), Ids{2}) << "it is asked for once more";
  look_up(0, {2});
  answer({{.may_keep = true}});
  note({}, {1, 2});
  EXPECT_EQ(view_.unknown(0, Ids{1, 2}), Ids()) << "and then it comes from the store";
  EXPECT_TRUE(view_.take(0).holders.empty());
}

TEST_F(DirectoryViews, WhatAClientThatIsGoneMightHaveKeptIsWithdrawn) {
  look_up(0, {1, 2, 3});
  look_up(1, {2});
  EXPECT_TRUE(view_.forget(0));
  EXPECT_FALSE(view_.forget(0));
  EXPECT_FALSE(answer({{.may_keep = true}, {.may_keep = true}, {.holder = 1}}));
  EXPECT_EQ(node_.perform(view_.withdraw_unused(0)), "");
  EXPECT_EQ(send_updates(), "notify 1") << "another client still asks for 2";
  EXPECT_EQ(answer({{.holder = 1}}), 1U);
}

TEST_F(DirectoryViews, AClientThatGoesAfterTheAnswerMightHaveKeptItToo) {
  look_up(0, {1, 2});
  answer({{.may_keep = true}, {.holder = 1}});
  view_.forget(0);
  node_.perform(view_.withdraw_unused(0));
  EXPECT_EQ(send_updates(), "notify 1");
  EXPECT_FALSE(view_.awaits(1));
  EXPECT_FALSE(view_.awaits(2));
}

TEST_F(DirectoryViews, OfSeveralChangesOfASampleTheLastOneIsSent) {
  note({1, 2, 3}, {});
  note({}, {2});
  EXPECT_EQ(send_updates(), "notify 1 3 2") << "what is kept comes first";
  EXPECT_EQ(send_updates(), "");
  const auto& message = std::get<NotifyDirectory>(node_.to_directory.back());
  EXPECT_EQ(protocol::unpack<protocol::Update>(message.note.note()).published, 2);
  EXPECT_EQ(protocol::unpack<protocol::Update>(message.note.note()).withdrawn, 1);
}

TEST_F(DirectoryViews, ChangesAreSentWhenAMessageIsFull) {
  Ids many;
  for (SampleId id = 0; std::ssize(many) < static_cast<std::ptrdiff_t>(protocol::Update::most); ++id)
    many.push_back(id);
  EXPECT_EQ(note({500}, {}), "");
  node_.to_directory.clear();
  note(many, {});
  EXPECT_EQ(node_.to_directory.size(), 2U) << "one more than a message has";
}

/// With the service: a node that asks this one waits while this one may keep what it asks for.
TEST_F(DirectoryViews, AnotherNodeWaitsUntilARequestIsDecided) {
  look_up(0, {1});
  EXPECT_TRUE(node_.service.must_wait(Ids{1}));
  EXPECT_FALSE(node_.service.must_wait(Ids{2}));
  answer({{.may_keep = true}});
  EXPECT_TRUE(node_.service.must_wait(Ids{1}));
  EXPECT_EQ(node_.want(0, {1}), "read store 1");
  EXPECT_FALSE(node_.service.must_wait(Ids{1})) << "it is read, and can be sent then";
  EXPECT_EQ(node_.answer(0, {1}), "");
  node_.end(0);
  EXPECT_EQ(node_.sent.size(), 2U) << "both have it";
  EXPECT_EQ(send_updates(), "notify 1");
}

}  // namespace TANDEM_FILE
}  // namespace tandem
