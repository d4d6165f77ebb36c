// What the processes that watch the machines of a job see and tell: how ranks end, which machines a network
// separates.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <thread>

#include "policies/vocabulary/check.hpp"
#include "runtime/launcher/launcher.hpp"
#include "runtime/machines/guard_messages.hpp"
#include "runtime/machines/local_watch.hpp"
#include "runtime/machines/network_probe.hpp"
#include "runtime/machines/rank_ends.hpp"
#include "runtime/machines/rank_watch.hpp"
#include "runtime/process/process.hpp"
#include "runtime/process/process_list.hpp"

namespace tandem::machines {
namespace TANDEM_FILE {

using How = RankEnd::How;

TimedEnd at(double moment_s, Rank rank, How how, int number = 0, double uncertainty_s = 0.0005) {
  return {{rank, how, number}, Seconds(moment_s), Seconds(uncertainty_s)};
}
Rank culprit(const std::vector<TimedEnd>& ends) {
  const auto end = killed_first(ends);
  return end ? end->rank : -1;
}

TEST(KilledFirst, IsTheRankThatASignalEndedBeforeOthersLostTheirConnections) {
  EXPECT_EQ(culprit({}), -1);
  // Rank 1 is killed; rank 0 misses it and exits, rank 3 reports an error, the launcher ends rank 2.
  const auto killed = at(10.0, 1, How::signal, SIGKILL);
  EXPECT_EQ(culprit({at(10.02, 0, How::exited, 1), at(10.3, 2, How::signal, SIGTERM), killed,
                     at(10.01, 3, How::failed)}),
            1);
  // Crashes, and ends whose status was lost.
  EXPECT_EQ(culprit({at(1.0, 4, How::signal, SIGSEGV), at(1.1, 0, How::unknown)}), 4);
  EXPECT_EQ(culprit({at(1.1, 4, How::exited, 1), at(1.0, 0, How::unknown)}), 0);
}

TEST(KilledFirst, TakesFromMpirunTheSignalThatNobodyElseSaw) {
  const RankEnd unknown{1, How::unknown, 0}, exited{1, How::exited, 1};
  EXPECT_EQ(completed(unknown, EndBySignal{1, SIGKILL}), (RankEnd{1, How::signal, SIGKILL}));
  EXPECT_EQ(completed(unknown, EndBySignal{0, SIGKILL}), unknown);
  EXPECT_EQ(completed(unknown, std::nullopt), unknown);
  EXPECT_EQ(completed(exited, EndBySignal{1, SIGKILL}), exited);
}

TEST(KilledFirst, MomentsThatTheAnswersOfMachinesBlurDoNotHideASignal) {
  EXPECT_EQ(culprit({at(1.000, 0, How::exited, 1, 0.003), at(1.004, 1, How::signal, SIGKILL, 0.003)}), 1);
  EXPECT_EQ(culprit({at(1.000, 0, How::unknown, 0, 0.003), at(1.004, 1, How::signal, SIGKILL, 0.003)}), 1);
  EXPECT_EQ(culprit({at(1.000, 0, How::failed, 0, 0.003), at(1.004, 1, How::signal, SIGTERM, 0.003)}), -1)
      << "the launcher ends the others by SIGTERM";
}

TEST(KilledFirst, IsNoneWhereARankReportedItsError) {
  // A second later, the launcher kills those that do not react to SIGTERM.
  EXPECT_EQ(
      culprit({at(5.0, 2, How::failed), at(5.1, 0, How::signal, SIGTERM), at(6.1, 1, How::signal, SIGKILL)}),
      -1);
  EXPECT_EQ(culprit({at(5.0, 2, How::exited, 3), at(6.1, 1, How::signal, SIGKILL)}), -1);
  // Ranks that have finished are not the cause, and somebody may send SIGTERM to a rank.
  EXPECT_EQ(culprit({at(1.0, 0, How::finished), at(5.0, 1, How::signal, SIGKILL)}), 1);
  EXPECT_EQ(culprit({at(5.0, 2, How::signal, SIGTERM), at(5.1, 0, How::exited, 1)}), 2);
}

TEST(GuardMessages, RoundTrip) {
  const GuardRequest request{.mark = "A=b",
                             .limit = Seconds(2.5),
                             .folders = "/x/out.part-",
                             .files = "c/round_",
                             .address = "10.0.0.1"};
  EXPECT_EQ(to_text(guard_request_from(to_text(request))), to_text(request));
  EXPECT_DOUBLE_EQ(guard_request_from(to_text(request)).limit.count(), 2.5);
  const std::vector<Peer> peers = {{"m 1", "10.0.0.1", 4711}, {"m2", "10.0.0.2", 1}};
  EXPECT_EQ(guard_order_from(to_text(GuardOrder{.peers = peers})), GuardOrder{.peers = peers});
  EXPECT_EQ(guard_order_from(to_text(GuardOrder{.to_kill = 0})), GuardOrder{.to_kill = 0});
  EXPECT_EQ(to_text(GuardOrder()), "");
  EXPECT_EQ(guard_order_from(""), GuardOrder());
  GuardAnswer answer{.files = {{"/x/out.part-1", "c/round_1.pt"}}, .port = 7, .silent = {"m3"}};
  answer.ends.push_back({{3, How::signal, 9}, Seconds(0.25)});
  const GuardAnswer read = guard_answer_from(to_text(answer));
  EXPECT_EQ(read.ends.front().end, answer.ends.front().end);
  EXPECT_DOUBLE_EQ(read.ends.front().age.count(), 0.25);
  EXPECT_EQ(read.files, answer.files);
  EXPECT_EQ(read.port, 7);
  EXPECT_EQ(read.silent, answer.silent);
  for (const char* text : {"", "Welcome to m1!", "{}", "[1]"})
    EXPECT_THROW(guard_answer_from(text), WorldError);
}

TEST(Separated, TheMachineOfMostPairsIsFirst) {
  using Names = std::vector<std::string>;
  // A cable of m3: all miss m3, and m3 misses all.
  EXPECT_EQ(separated({{"m1", "m3"}, {"m3", "m1"}, {"m2", "m3"}}), (Names{"m3", "m1", "m2"}));
  EXPECT_EQ(separated({{"m3", "m1"}, {"m3", "m2"}}), (Names{"m3", "m1", "m2"}));
  EXPECT_EQ(separated({{"m1", "m2"}}), (Names{"m2", "m1"}));
}

/// A process that registers as rank `number` of a job, calls `end` and exits with 3.
Process start_rank(const std::string& mark, Rank number, const std::function<void(RankRegistration&)>& end) {
  return start_function([&, number] {
    setenv(launch_variable, mark.substr(mark.find('=') + 1).c_str(), 1);
    RankRegistration registration;
    registration.connect_as(number);
    if (!registration.is_connected()) return 9;
    end(registration);
    return 3;
  });
}

/// What a watch sees of four ranks, which are processes, that end one after the other.
TEST(RankWatch, SeesHowRanksEnd) {
  const std::string mark = new_launch_mark();
  RankWatch watch(mark);
  const auto rank = [&](Rank number, const std::function<void(RankRegistration&)>& end) {
    return start_rank(mark, number, end);
  };
  const auto see = [&](std::size_t count) {
    for (int i = 0; i < 500 && watch.ends().size() < count; ++i) {
      watch.read_available();
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  };
  Process killed = rank(4, [](RankRegistration&) { raise(SIGKILL); });
  see(1);
  Process exits = rank(5, [](RankRegistration&) {});
  see(2);
  Process finishes = rank(6, [](RankRegistration& one) { one.announce_end(false); });
  see(3);
  Process fails = rank(7, [](RankRegistration& one) { one.announce_end(true), raise(SIGKILL); });
  see(4);
  fails.wait();
  watch.read_available();
  std::vector<RankEnd> ends;
  for (const auto& seen : watch.ends()) ends.push_back(seen.end);
  // Nobody has collected their exit status, so it can be read.
  EXPECT_EQ(ends,
            (std::vector<RankEnd>{
                {4, How::signal, SIGKILL}, {5, How::exited, 3}, {6, How::finished, 0}, {7, How::failed, 0}}));
  RankWatch second(mark);
  EXPECT_TRUE(second.descriptors().empty()) << "the first watches the ranks of this job";
}

/// Neither another rank of the job nor a rank of another job.
TEST(KillRank, KillsThatRankAlone) {
  const std::string mark = new_launch_mark(), other_mark = new_launch_mark();
  const auto start = [](const std::string& of, int rank) {
    return start_program(
        {.words = {"sleep", "100"}, .environment = {of, "OMPI_COMM_WORLD_RANK=" + std::to_string(rank)}});
  };
  Process one = start(mark, 1), eleven = start(mark, 11), other = start(other_mark, 1);
  EXPECT_FALSE(kill_rank(mark, 2));
  EXPECT_TRUE(kill_rank(mark, 1));
  EXPECT_EQ(one.wait().signal, SIGKILL);
  EXPECT_FALSE(kill_rank(mark, 1));
  EXPECT_FALSE(eleven.poll());
  EXPECT_FALSE(other.poll());
}

LocalWatch watch_of(const std::string& mark) {
  std::vector<RankWatch> watches;
  watches.emplace_back(mark);
  return LocalWatch(std::move(watches));
}

/// As with Open MPI, whose ranks exit when they lose a connection.
TEST(LocalWatch, NamesTheRankThatWasKilledBeforeOthersExited) {
  const std::string mark = new_launch_mark();
  LocalWatch watch = watch_of(mark);
  Process finishes = start_rank(mark, 0, [](RankRegistration& one) { one.announce_end(false); });
  finishes.wait();
  Process killed = start_rank(mark, 4, [](RankRegistration&) { raise(SIGKILL); });
  siginfo_t ended{};
  // Its status stays, for the watch.
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(killed.id()), &ended, WEXITED | WNOWAIT), 0);
  Process exits = start_rank(mark, 2, [](RankRegistration&) {});
  exits.wait();
  EXPECT_EQ(watch.killed_rank(), (RankEnd{4, How::signal, SIGKILL}));
  killed.wait();
}

TEST(LocalWatch, NamesNobodyWhenRanksReportedErrorsOrExited) {
  const std::string mark = new_launch_mark();
  LocalWatch watch = watch_of(mark);
  start_rank(mark, 1, [](RankRegistration& one) { one.announce_end(true); }).wait();
  start_rank(mark, 0, [](RankRegistration&) {}).wait();
  EXPECT_EQ(watch.killed_rank(), std::nullopt);
}

TEST(RankWatch, ARankWithoutAWatchRuns) {
  setenv(launch_variable, "1.none", 1);
  RankRegistration registration;
  registration.connect_as(0);
  unsetenv(launch_variable);
  EXPECT_FALSE(registration.is_connected());
  registration.announce_end(true);
}

TEST(NetworkProbe, APeerIsSilentOnceItHasBeenHeardAndIsNotAnyMore) {
  NetworkProbe one("127.0.0.1", "key"), other("127.0.0.1", "key"), stranger("127.0.0.1", "another key");
  one.set_peers({{"other", "127.0.0.1", other.port()}, {"stranger", "127.0.0.1", stranger.port()}});
  for (NetworkProbe* probe : {&other, &stranger}) probe->set_peers({{"one", "127.0.0.1", one.port()}});
  const auto exchange = [&] {
    for (const NetworkProbe* probe : {&one, &other, &stranger}) probe->send_all();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    for (NetworkProbe* probe : {&one, &other}) probe->read_available();
  };
  EXPECT_TRUE(one.silent(Seconds(0.0)).empty()) << "no machine has answered yet";
  exchange();
  EXPECT_TRUE(one.silent(Seconds(60.0)).empty());
  EXPECT_EQ(one.silent(Seconds(0.0)), std::vector<std::string>{"other"}) << "the stranger is none of the job";
  EXPECT_THROW(NetworkProbe("no address", "key"), WorldError);
  EXPECT_THROW(NetworkProbe("192.0.2.1", "key"), WorldError) << "not of this machine";
}

}  // namespace TANDEM_FILE
}  // namespace tandem::machines
