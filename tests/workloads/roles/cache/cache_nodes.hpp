// Cache nodes with clients that ask at random, without time.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/cache_client.hpp"
#include "tests/support/cached_job.hpp"
#include "tests/support/fake_context.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/roles/run_role.hpp"

namespace tandem::testing {

class CacheNodes : public ::testing::Test {
 protected:
  static constexpr int samples = 40;
  static constexpr int batch = 6;

  static platforms::Description lab() { return hosts_with_disks("cache_node_test", {"a", "b", "c", "d"}); }
  static Experiment reading(int workers, std::vector<std::string> nodes) {
    Experiment experiment = cached_experiment("synthetic", samples, batch);
    experiment.placement.workers.assign(static_cast<std::size_t>(workers), "d");
    experiment.placement.cache_nodes = std::move(nodes);
    return experiment;
  }
  /// Some clients request at random, as far ahead as they like; other ranks have their roles. Returns the
  /// journals of all ranks.
  std::vector<Journal> serve(const Experiment& experiment, std::uint64_t seed, int requests = 12) {
    const Job job(experiment, lab(), folder_.path().string());
    std::vector<Journal> journals = run_ranks(job, seed, requests);
    for (Journal& journal : journals) journal.complete();
    return journals;
  }
  /// The same; what is computed after the job's time is not in the journals yet, and needs the job.
  static std::vector<Journal> run_ranks(const Job& job, std::uint64_t seed, int requests = 12) {
    std::vector<Journal> journals(static_cast<std::size_t>(job.roster().size()));
    const auto workers = static_cast<int>(job.roster().workers().size());
    const auto nodes = job.roster().ranks_of(Roster::Role::cache_node);
    FakeWorld world(job.roster().size(), seed);
    world.run([&](Context& context) {
      Journal& journal = journals[static_cast<std::size_t>(context.rank())];
      journal.keep_decisions = journal.keep_requests = true;
      if (context.rank() >= workers) return run_role(job, context, journal);
      // The workers share no host with a node, so they take turns.
      CacheClient client(context, job.data(), nodes[static_cast<std::size_t>(context.rank()) % nodes.size()]);
      ask(client, Rng::stream(seed, "client", static_cast<std::uint64_t>(context.rank())), requests);
    });
    return journals;
  }
  static void ask(CacheClient& client, Rng rng, int requests) {
    for (int sent = 0; sent < requests || client.in_flight() > 0;) {
      if (sent < requests && (client.in_flight() == 0 || (client.in_flight() < 4 && rng.below(2) == 0))) {
        std::vector<SampleId> ids(1 + rng.below(batch));
        for (SampleId& id : ids) id = static_cast<SampleId>(rng.below(samples));
        client.request(std::move(ids), sent++ / 5);
      } else {
        const auto expected = client.expected();
        EXPECT_TRUE(client.receive() == expected);
      }
    }
    client.close();
  }
  TemporaryFolder folder_;
};

}  // namespace tandem::testing
