// Clients that are written by hand ask simulated cache nodes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "platforms/load.hpp"
#include "policies/cache/shared.hpp"
#include "policies/sampling/sampler.hpp"
#include "policies/vocabulary/check.hpp"
#include "sim/job_world.hpp"
#include "tests/sim/lab.hpp"
#include "tests/support/cache_client.hpp"
#include "tests/support/cache_counts.hpp"
#include "workloads/data/training_replay.hpp"
#include "workloads/job/placement/cache_clients.hpp"
#include "workloads/records/recording_context.hpp"
#include "workloads/roles/run_role.hpp"

namespace tandem::sim {

using lab::alpha;
using lab::bandwidth;
using tandem::testing::cache_sum;
using tandem::testing::CacheClient;

inline constexpr double latency_s = 0.005, rate = 1e8;
inline constexpr double record = 3073;
inline constexpr double precision_s = 5e-8;  // a disk moves whole bytes

class CacheTimes : public ::testing::Test {
 protected:
  /// Hosts h0, h1, ... with a disk each. The workers, clients that are written by hand, are on the first
  /// ones.
  explicit CacheTimes(int clients = 2) {
    experiment_.workload.math = Experiment::Workload::Math::modelled;
    experiment_.workload.model = "lenet";
    experiment_.workload.dataset = "synthetic-colour";
    experiment_.workload.train_samples = 100;
    experiment_.workload.batch = 8;
    experiment_.sync.over = sync::Route::all_reduce;
    experiment_.sync.collective = "ring";
    experiment_.data.source = DataSource::storage;
    experiment_.data.cache_capacity = Bytes(20 * 3073);
    experiment_.stop.rounds = 1;
    experiment_.placement.workers = lab::hosts(clients);
    experiment_.placement.cache_nodes = {"h7"};
  }
  using Client = std::function<void(CacheClient&, Context&)>;
  /// Each client's program; returns what the ranks recorded.
  Journal serve(const std::vector<Client>& clients) {
    std::string platform = lab::star(8, {}, disk_);
    if (!slow_link_.empty()) {
      const std::string link = "<link id=\"" + slow_link_ + "\" bandwidth=\"";
      const auto at = platform.find(link + "1.25GBps");
      TANDEM_CHECK(at != std::string::npos, "link", slow_link_);
      platform.replace(at, link.size() + 8, link + "12.5MBps");
    }
    const lab::TemporaryFile file("platform.xml", platform);
    experiment_.platform = file.path();
    job_ = std::make_unique<Job>(experiment_, platforms::load_platform(file.path()), folder_.path().string());
    std::vector<Journal> journals(static_cast<std::size_t>(job_->roster().size()));
    const auto change = [&](SimulationSetting& setting) {
      setting.body = [&](Context& context) {
        const auto rank = static_cast<std::size_t>(context.rank());
        if (rank >= clients.size()) {
          if (!keeps_operations_) return run_role(*job_, context, journals[rank]);
          RecordingContext recording(context, journals[rank].operations);
          return run_role(*job_, recording, journals[rank]);
        }
        const auto nodes = job_->roster().ranks_of(Roster::Role::cache_node);
        CacheClient client(context, job_->data(), nodes[cache_node_of(job_->roster(), rank)]);
        clients[rank](client, context);
        client.close();
      };
    };
    simulate_job(*job_, {.change = change});
    Journal all;
    for (Journal& own : journals) all.append(std::move(own));
    return all;
  }
  /// The whole job.
  Journal train() {
    const lab::TemporaryFile file("platform.xml", lab::star(8, {}, disk_));
    experiment_.platform = file.path();
    job_ = std::make_unique<Job>(experiment_, platforms::load_platform(file.path()), folder_.path().string());
    return simulate_job(*job_, {}).journal;
  }
  /// Not even its last message meets another one.
  static void stays_away(CacheClient&, Context& context) { sleep_until(context, 9.0); }
  static void sleep_until(Context& context, double time_s) {
    Pending sleeping = context.sleep(Seconds(time_s) - context.now());
    context.wait(sleeping);
  }
  /// Until a batch of so many samples is there, since it was requested, if nothing is in its way.
  static double request(int samples) { return alpha + (8.0 * samples + sizeof(Note)) / bandwidth; }
  static double batch(int samples) { return alpha + (record * samples + sizeof(Note)) / bandwidth; }
  static double disk(int samples) { return samples * (latency_s + record / rate); }

  std::string disk_ =
      "<disk id='disk' read_bw='100MBps' write_bw='50MBps'><prop id='tandem:latency' value='5ms'/></disk>";
  std::string slow_link_;  ///< of the star, with a hundredth of the others' bandwidth; empty: none
  bool keeps_operations_ = false;
  Experiment experiment_;
  std::unique_ptr<Job> job_;
  tandem::testing::TemporaryFolder folder_;
};

/// The time from a request to its batch.
inline double answer_time(CacheClient& client, Context& context, std::vector<SampleId> ids) {
  const Seconds start = context.now();
  client.request(std::move(ids));
  client.receive();
  return (context.now() - start).count();
}

class StoreTimes : public CacheTimes {
 protected:
  /// A read by a store, until its data are at the node.
  static double from_store(int samples) {
    return alpha + (8.0 * samples + sizeof(Note)) / bandwidth + disk(samples) + data(samples);
  }
  static double data(int samples) { return alpha + record * samples / bandwidth; }
  /// A node asks another one for some samples and gets those that are there.
  static double from_peer(int asked, int there) {
    return alpha + (8.0 * asked + sizeof(Note)) / bandwidth + alpha +
           (record * there + sizeof(Note)) / bandwidth;
  }
  static std::int64_t messages(const Journal& journal, const std::string& channel) {
    return std::ranges::count_if(journal.operations, [&](const OperationRecord& operation) {
      return operation.kind == "send" && operation.channel == channel;
    });
  }
};

/// Two nodes, each with one client, and a store. Each sample has one node that keeps it.
class PairTimes : public StoreTimes {
 protected:
  PairTimes(const std::string& policy, Peers peers) {
    experiment_.placement.stores = {"h3"};
    experiment_.placement.cache_nodes = {"h6", "h7"};
    experiment_.data.cache = policy;
    experiment_.data.peers = peers;
    experiment_.data.copies = 1;
    keeps_operations_ = true;
  }
};

}  // namespace tandem::sim
