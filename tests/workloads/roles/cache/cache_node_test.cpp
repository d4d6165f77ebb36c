// Cache nodes give every client the records that it asked for, in whichever order requests arrive and reads
// end.
#include "workloads/roles/cache/cache_node.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/cache_counts.hpp"
#include "tests/support/unnamed_file.hpp"
#include "tests/workloads/roles/cache/cache_nodes.hpp"
#include "workloads/records/cache_rows.hpp"
#include "workloads/records/recording_context.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::cache_sum;
using testing::CacheClient;
using testing::CacheNodes;
using testing::corrupt_unnamed;
using testing::FakeWorld;
using testing::TemporaryFolder;

/// Of its own disk, and of stores in front of a tier on the disk; more in service_worlds_test.cpp.
TEST_F(CacheNodes, EveryBatchHasItsSamples) {
  for (const int stores : {0, 2}) {
    Experiment experiment = reading(3, {"a"});
    experiment.data.cache = "lru";
    experiment.data.cache_capacity = Bytes(3 * 785);
    experiment.data.disk_capacity = Bytes(8 * 785);
    if (stores > 0) experiment.placement.stores = {"b", "c"};
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      SCOPED_TRACE(seed);
      serve(experiment, seed);
    }
  }
}

/// It takes seconds for millions of requests, which are no part of a measured job.
TEST_F(CacheNodes, BeladysBoundIsComputedAfterTheTimeOfTheJob) {
  const Job job(reading(3, {"a"}), lab(), folder_.path().string());
  std::vector<Journal> journals = run_ranks(job, 1);
  const auto rows = [&] {
    std::ptrdiff_t count = 0;
    for (const Journal& journal : journals)
      count += std::ranges::count(journal.caches, belady_row, &CacheRecord::from);
    return count;
  };
  EXPECT_EQ(rows(), 0);
  for (Journal& journal : journals) journal.complete();
  const std::ptrdiff_t all = rows();
  EXPECT_GT(all, 0);
  for (Journal& journal : journals) journal.complete();
  EXPECT_EQ(rows(), all) << "once";
}

/// Reads on a thread, and has no memory for the read when it has begun.
class FailingReads final : public RecordingContext {
 public:
  using RecordingContext::RecordingContext;
  ~FailingReads() override { end_transfers(); }
  Pending read(int, DiskAccess, Kernel transfer) override {
    reading_ = std::thread([this, transfer = std::move(transfer)] {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      transfer();
      has_read = true;
    });
    throw std::bad_alloc();
  }
  void end_transfers() noexcept override {
    if (reading_.joinable()) reading_.join();
  }
  std::atomic<bool> has_read = false;

 private:
  std::thread reading_;
};

/// The error does not come from a wait, and the read uses memory of the node.
TEST_F(CacheNodes, ATransferEndsBeforeAnErrorDestroysItsRole) {
  const Job job(reading(1, {"a"}), lab(), folder_.path().string());
  std::atomic<bool> has_read = false;
  FakeWorld world(job.roster().size(), 1);
  const auto body = [&](Context& context) {
    if (context.rank() > 0) {
      Journal journal;
      FailingReads failing(context, journal.operations);
      EXPECT_THROW(run_role(job, failing, journal), std::bad_alloc);
      has_read = failing.has_read.load();
      throw std::bad_alloc();
    }
    CacheClient client(context, job.data(), 1);
    client.request({1, 2});
    client.receive();
  };
  EXPECT_ANY_THROW(world.run(body));
  EXPECT_TRUE(has_read);
}

class SeveralCacheNodes : public CacheNodes, public ::testing::WithParamInterface<int> {};

TEST_P(SeveralCacheNodes, EachServesItsClients) {
  Experiment experiment = reading(4, {"a", "b"});
  if (GetParam() > 0) experiment.placement.stores = {"c"};
  if (GetParam() > 1) experiment.placement.stores.emplace_back("d");
  experiment.data.cache_capacity = Bytes(10 * 785);
  const auto journals = serve(experiment, 7);
  for (const std::size_t node : {4U, 5U}) {
    for (std::int64_t epoch = 0; epoch < 3; ++epoch)
      EXPECT_GT(cache_sum(journals.at(node), "", epoch).samples, 0) << "node " << node;
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, SeveralCacheNodes, ::testing::Values(0, 1, 2));

/// The number says how many stores there are.
class FaultsOfDisks : public CacheNodes, public ::testing::WithParamInterface<int> {
 protected:
  static Experiment reading_in_tiers() {
    Experiment experiment = reading(3, {"a"});
    experiment.data.cache = "lru";
    experiment.data.cache_capacity = Bytes(4 * 785);
    experiment.data.disk_capacity = Bytes(12 * 785);
    const std::vector<std::string> hosts = {"b", "c"};
    experiment.placement.stores.assign(hosts.begin(), hosts.begin() + GetParam());
    return experiment;
  }
  static constexpr std::size_t node = 3;
};

TEST_P(FaultsOfDisks, AFullDiskMakesTheTierSmaller) {
  std::int64_t from_tier[2] = {0, 0};
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    SCOPED_TRACE(seed);
    const bool is_full = seed % 2 == 1;
    if (is_full) std::filesystem::create_symlink("/dev/full", folder_.path("tier_0.bin"));
    const auto journals = serve(reading_in_tiers(), seed);
    EXPECT_EQ(cache_sum(journals.at(node), "no-room").samples > 0, is_full);
    from_tier[seed % 2] += cache_sum(journals.at(node), "tier1").samples;
  }
  // It delivers what is in flight to it.
  EXPECT_LT(from_tier[1] * 3, from_tier[0] * 2) << "counted where they came from";
}

TEST_P(FaultsOfDisks, FilesOfAKilledRunDoNoHarm) {
  for (const char* file : {"tier_0.bin", "records_0.bin", "records_1.bin"})
    folder_.write(file, std::string(100'000, 'x'));
  const auto journals = serve(reading_in_tiers(), 1);
  EXPECT_GT(cache_sum(journals.at(node), "tier1").samples, 0);
  EXPECT_EQ(cache_sum(journals.at(node), "no-room").samples, 0);
}

/// A node whose memory has 10 samples and whose disk 20 of the data set's 40, in the order in which they are
/// asked for first.
class KeptTiers : public CacheNodes {
 protected:
  static Experiment keeping(int stores) {
    Experiment experiment = reading(1, {"a"});
    experiment.data.cache = "minio";
    experiment.data.cache_capacity = Bytes(10 * 785);
    experiment.data.disk_capacity = Bytes(20 * 785);
    experiment.data.keep = true;
    if (stores > 0) experiment.placement.stores = {"b"};
    return experiment;
  }
  /// Launch number `launch` of the job asks for all samples. Returns the journal of the node.
  Journal serve_all(const Experiment& experiment, int launch, const std::string& resumed = "") {
    Job job(experiment, lab(), folder_.path().string());
    std::filesystem::create_directories(folder_.path("checkpoints"));
    Generation generation;
    generation.ended.resize(static_cast<std::size_t>(launch));
    if (launch > 0) job.set_generation(std::move(generation));
    if (!resumed.empty()) job.resume_from({.directory = resumed, .round = 1});
    std::vector<Journal> journals(static_cast<std::size_t>(job.roster().size()));
    FakeWorld(job.roster().size(), 1).run([&](Context& context) {
      if (context.rank() > 0)
        return run_role(job, context, journals[static_cast<std::size_t>(context.rank())]);
      CacheClient client(context, job.data(), 1);
      for (SampleId first = 0; first < samples; first += 4) {
        client.request({first, first + 1, first + 2, first + 3});
        const auto expected = client.expected();
        EXPECT_TRUE(client.receive() == expected) << first;
      }
      client.close();
    });
    return std::move(journals[1]);
  }
};

TEST_F(KeptTiers, ALaunchBeginsWithWhatIsLeftOnTheDisk) {
  for (const int stores : {0, 1}) {
    const auto first = serve_all(keeping(stores), 0);
    EXPECT_EQ(cache_sum(first, "store").samples, 40) << "a new job begins with empty caches";
    const auto second = serve_all(keeping(stores), 1);
    EXPECT_EQ(cache_sum(second, "kept").samples, 20);
    EXPECT_EQ(cache_sum(second, "kept").bytes, 20 * 785);
    EXPECT_EQ(cache_sum(second, "tier1").samples, 20);
    EXPECT_EQ(cache_sum(second, "store").samples, 20);
    EXPECT_EQ(cache_sum(second, "spoiled").samples, 0);
    // A smaller tier has what fits; one that is not kept has nothing.
    Experiment smaller = keeping(stores);
    smaller.data.disk_capacity = Bytes(5 * 785);
    EXPECT_EQ(cache_sum(serve_all(smaller, 2), "tier1").samples, 5);
    EXPECT_EQ(cache_sum(serve_all(smaller, 3), "kept").samples, 5);
    Experiment without = keeping(stores);
    without.data.keep = false;
    EXPECT_EQ(cache_sum(serve_all(without, 4), "store").samples, 40);
  }
}

TEST_F(KeptTiers, WhatWasChangedThereIsReadAgain) {
  serve_all(keeping(1), 0);
  // In the 13th sample, which is on the disk.
  std::fstream(folder_.path("tier_0.bin"), std::ios::in | std::ios::out | std::ios::binary)
          .seekp(12 * 785 + 5)
      << "other";
  const auto second = serve_all(keeping(1), 1);
  EXPECT_EQ(cache_sum(second, "kept").samples, 19);
  EXPECT_EQ(cache_sum(second, "spoiled").samples, 1);
  EXPECT_EQ(cache_sum(second, "tier1").samples, 19);
  EXPECT_EQ(cache_sum(second, "store").samples, 21);
  // It is written anew.
  EXPECT_EQ(cache_sum(serve_all(keeping(1), 2), "tier1").samples, 20);
}

TEST_F(KeptTiers, AResumedJobTakesACopy) {
  serve_all(keeping(0), 0);
  const TemporaryFolder former;
  for (const char* file : {"tier_0.bin", "tier_0.index"})
    std::filesystem::rename(folder_.path(file), former.path(file));
  const auto resumed = serve_all(keeping(0), 0, former.path().string());
  EXPECT_EQ(cache_sum(resumed, "tier1").samples, 20);
  EXPECT_EQ(cache_sum(serve_all(keeping(0), 1), "tier1").samples, 20) << "its own";
  // On another host, the disk is another one.
  Experiment moved = keeping(0);
  moved.placement.cache_nodes = {"c"};
  EXPECT_EQ(cache_sum(serve_all(moved, 0, former.path().string()), "kept").samples, 0);
}

TEST_F(KeptTiers, FilesOfAKilledRunDoNoHarm) {
  serve_all(keeping(0), 0);
  std::filesystem::resize_file(folder_.path("tier_0.bin"), 15 * 785);
  std::ofstream(folder_.path("tier_0.index"), std::ios::app) << "+ 3";
  EXPECT_EQ(cache_sum(serve_all(keeping(0), 1), "kept").samples, 5);
  folder_.write("tier_0.index", std::string(100'000, 'x'));
  folder_.write("tier_0.bin", std::string(100'000, 'x'));
  EXPECT_EQ(cache_sum(serve_all(keeping(0), 1), "store").samples, 40);
  std::filesystem::remove(folder_.path("tier_0.bin"));
  EXPECT_EQ(cache_sum(serve_all(keeping(0), 2), "spoiled").samples, 20);
}

/// Whatever is written to a disk is something else afterwards.
class CorruptingWrites final : public RecordingContext {
 public:
  using RecordingContext::RecordingContext;
  Pending write(int disk, DiskAccess access, Kernel transfer) override {
    return RecordingContext::write(disk, access, [transfer = std::move(transfer)] {
      transfer();
      EXPECT_TRUE(corrupt_unnamed("tier_0.bin"));
    });
  }
};

TEST_P(FaultsOfDisks, ACorruptTierIsNotServed) {
  const Experiment experiment = reading_in_tiers();
  const Job job(experiment, lab(), folder_.path().string());
  std::vector<Journal> journals(static_cast<std::size_t>(job.roster().size()));
  FakeWorld(job.roster().size(), 1).run([&](Context& context) {
    Journal& journal = journals[static_cast<std::size_t>(context.rank())];
    const Rank rank = context.rank();
    if (rank == static_cast<Rank>(node)) {
      CorruptingWrites corrupting(context, journal.operations);
      return run_role(job, corrupting, journal);
    }
    if (rank > static_cast<Rank>(node)) return run_role(job, context, journal);
    CacheClient client(context, job.data(), static_cast<Rank>(node));
    ask(client, Rng::stream(1, "client", static_cast<std::uint64_t>(rank)), 12);
  });
  EXPECT_GT(cache_sum(journals.at(node), "store").samples, 0);
}

/// The records of the disk are other bytes before the first read.
class CorruptedRecords final : public RecordingContext {
 public:
  using RecordingContext::RecordingContext;
  Pending read(int disk, DiskAccess access, Kernel transfer) override {
    if (!std::exchange(is_corrupt_, true)) {
      EXPECT_TRUE(corrupt_unnamed("records_0.bin"));
    }
    return RecordingContext::read(disk, access, std::move(transfer));
  }

 private:
  bool is_corrupt_ = false;
};

TEST_P(FaultsOfDisks, BadSamplesEndTheJobOrAreMarked) {
  Experiment experiment = reading_in_tiers();
  experiment.placement.workers.assign(1, "d");
  const auto bad_rank = static_cast<Rank>(GetParam() > 0 ? 2 : 1);
  const auto run = [&](const std::vector<SampleId>& ids) {
    const Job job(experiment, lab(), folder_.path().string());
    const GivenSamples given(experiment);
    std::vector<SampleId> got;
    FakeWorld(job.roster().size(), 1).run([&](Context& context) {
      Journal journal;
      if (context.rank() == bad_rank) {
        CorruptedRecords corrupted(context, journal.operations);
        return run_role(job, corrupted, journal);
      }
      if (context.rank() > 0) return run_role(job, context, journal);
      CacheClient client(context, job.data(), 1, given);
      for (int times = 0; times < 2; ++times) {
        client.request(ids);
        const auto expected = client.expected();
        const auto records = client.receive();
        for (std::size_t i = 0; i < ids.size(); ++i) {
          got.push_back(GivenSamples::get(std::span(records).subspan(785 * ids.size()), i));
          if (got.back() == bad_sample) continue;
          const auto own = std::span(records).subspan(785 * i, 785);
          EXPECT_TRUE(std::ranges::equal(own, std::span(expected).subspan(785 * i, 785))) << ids[i];
        }
      }
      client.close();
    });
    return got;
  };
  EXPECT_THROW(run({2}), WorldError);
  experiment.data.bad_sample = BadSample::replace;
  // With two stores, the first one has the even ids.
  const SampleId odd = GetParam() == 2 ? 5 : bad_sample;
  EXPECT_EQ(run({2, 5}), (std::vector<SampleId>{bad_sample, odd, bad_sample, odd}));
}

INSTANTIATE_TEST_SUITE_P(Stores, FaultsOfDisks, ::testing::Values(0, 2));
INSTANTIATE_TEST_SUITE_P(LongStores, FaultsOfDisks, ::testing::Values(1));

/// What the policy reads at the start belongs to the epoch in which the job continues.
TEST_F(CacheNodes, AResumedJobHasNoRowsOfEarlierEpochs) {
  Experiment experiment = reading(1, {"a"});
  experiment.data.cache = "hoard";
  experiment.data.cache_capacity = Bytes(samples * 785);
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(seed);
    const Job job(experiment, lab(), folder_.path().string());
    Journal journal;
    FakeWorld(job.roster().size(), seed).run([&](Context& context) {
      if (context.rank() > 0) return run_role(job, context, journal);
      CacheClient client(context, job.data(), 1);
      for (const std::int64_t epoch : {3, 3, 4}) {
        client.request({1, 2}, epoch);
        const auto expected = client.expected();
        EXPECT_TRUE(client.receive() == expected);
      }
      client.close();
    });
    for (const CacheRecord& row : journal.caches) EXPECT_GE(row.epoch, 3) << row.from;
    EXPECT_EQ(cache_sum(journal, "background", 3).samples, samples);
    EXPECT_EQ(cache_sum(journal, "tier0", 3).samples, 4);
    EXPECT_EQ(cache_sum(journal, "tier0", 4).samples, 2);
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem
