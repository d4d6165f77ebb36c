// Experiments of several jobs: what each of them is, and which files are refused.
#include "tests/workloads/experiment/experiment_text.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

class JobsFile : public ExperimentFile {
 protected:
  LocatedExperiment located(const std::string& text, const Overrides& overrides = {},
                            const std::string& variant = "") {
    return load_located(folder_.write("lab.yaml", text), overrides, variant);
  }
  std::string refusal(const std::string& text, const Overrides& overrides = {}) {
    try {
      located(text, overrides);
    } catch (const ConfigError& error) {
      std::string message = error.what();
      const std::string prefix = folder_.path("");
      if (const auto at = message.find(prefix); at != std::string::npos) message.erase(at, prefix.size());
      return message;
    }
    return "no error";
  }
};

const std::string two = minimal +
                        "workload: {batch: 16}\n"
                        "jobs:\n"
                        "  vision: {}\n"
                        "  speech: {start: 5s, sync.algorithm: local-sgd, sync: {options: {h: 4}}, "
                        "placement.workers: [c, d]}\n";

TEST_F(JobsFile, EachJobIsTheExperimentWithItsOwnKeys) {
  const auto jobs = located(two).jobs;
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_EQ(jobs[0].name, "vision");
  EXPECT_EQ(jobs[0].start, Seconds(0));
  EXPECT_EQ(jobs[0].experiment.name, "lab/vision");
  EXPECT_EQ(jobs[0].experiment.sync.algorithm, "bsp");
  EXPECT_EQ(jobs[0].experiment.workload.batch, 16);
  EXPECT_EQ(jobs[1].name, "speech");
  EXPECT_EQ(jobs[1].start, Seconds(5));
  EXPECT_EQ(jobs[1].experiment.sync.algorithm, "local-sgd");
  EXPECT_EQ(jobs[1].experiment.sync.options.at("h"), OptionValue(std::int64_t{4}));
  EXPECT_EQ(jobs[1].experiment.workload.batch, 16);
  EXPECT_EQ(jobs[1].experiment.placement.workers, (std::vector<std::string>{"c", "d"}));
  EXPECT_TRUE(located(minimal).jobs.empty());
}

TEST_F(JobsFile, OverridesAndVariantsHoldForAllJobsOrForOne) {
  const std::string text = two + "  third: {workload.batch: 2}\nvariants: {big: {workload.batch: 99}}\n";
  auto batches = [&](const Overrides& overrides, const std::string& variant = "") {
    std::vector<int> sizes;
    for (const auto& job : located(text, overrides, variant).jobs)
      sizes.push_back(job.experiment.workload.batch);
    return sizes;
  };
  EXPECT_EQ(batches({}), (std::vector<int>{16, 16, 2}));
  EXPECT_EQ(batches({{"workload.batch", "5"}}), (std::vector<int>{5, 5, 5}));
  EXPECT_EQ(batches({{"jobs.speech.workload.batch", "5"}}), (std::vector<int>{16, 5, 2}));
  EXPECT_EQ(batches({{"jobs.fourth.workload.batch", "7"}}), (std::vector<int>{16, 16, 2, 7}));
  EXPECT_EQ(batches({}, "big"), (std::vector<int>{99, 99, 2}));
}

TEST_F(JobsFile, AnOverrideOfAnAlgorithmTakesItsOptionsAlong) {
  auto options = [&](const std::string& jobs, const Overrides& overrides, const std::string& variant = "") {
    const std::string text = minimal + "checkpoint: {policy: fixed, options: {interval: 5}}\n" +
                             "variants: {own: {checkpoint.policy: budget}}\njobs: {a: {" + jobs + "}}\n";
    return located(text, overrides, variant).jobs.at(0).experiment.checkpoint.options;
  };
  EXPECT_EQ(options("checkpoint.options.interval: 8", {}).at("interval"), OptionValue(8.0));
  for (const std::string jobs :
       {"checkpoint.options.interval: 8", "checkpoint: {policy: fixed, options: {interval: 8}}"})
    for (const std::string key : {"checkpoint.policy", "jobs.a.checkpoint.policy"})
      EXPECT_FALSE(options(jobs, {{key, "budget"}}).contains("interval")) << jobs << key;
  // Without an algorithm of its own, it keeps what the other one has, too.
  EXPECT_EQ(
      options("checkpoint.options.on_warning: false", {{"checkpoint.policy", "young"}}).at("on_warning"),
      OptionValue(false));
  EXPECT_EQ(options("checkpoint.options.margin: 0.2", {{"checkpoint.policy", "budget"}}).at("margin"),
            OptionValue(0.2));
  EXPECT_EQ(options("checkpoint.options.margin: 0.2", {{"variants.own.checkpoint.policy", "budget"}}, "own")
                .at("margin"),
            OptionValue(0.2));
  EXPECT_EQ(options("checkpoint.policy: budget", {{"checkpoint.options.margin", "0.2"}}).at("margin"),
            OptionValue(0.2));
  const auto mistyped = [&] {
    options("checkpoint.options.intervall: 8", {{"checkpoint.policy", "budget"}});
  };
  EXPECT_THROW(mistyped(), ConfigError);
}

TEST_F(JobsFile, WhatAllJobsHaveNeedNotMakeAJob) {
  const std::string common = minimal + "data: {source: storage}\n";
  EXPECT_NE(refusal(common).find("placement.cache_nodes"), std::string::npos) << refusal(common);
  const std::string text = common +
                           "variants: {big: {workload.batch: 99}}\n"
                           "jobs:\n"
                           "  one: {placement.cache_nodes: [c]}\n"
                           "  other: {placement.cache_nodes: [d], seed: 4}\n";
  for (const std::string variant : {"", "big"}) {
    const auto jobs = located(text, {}, variant).jobs;
    ASSERT_EQ(jobs.size(), 2U);
    EXPECT_EQ(jobs[1].experiment.placement.cache_nodes, std::vector<std::string>{"d"});
    EXPECT_EQ(jobs[1].experiment.workload.batch == 99, variant == "big");
  }
  // Each job must be one.
  EXPECT_NE(refusal(text + "  third: {}\n").find("job 'third': key 'placement.cache_nodes'"),
            std::string::npos)
      << refusal(text + "  third: {}\n");
}

TEST_F(JobsFile, AnErrorOfAJobNamesThePlaceOfItsKey) {
  const auto located_two = located(two);
  const Origin own = located_two.jobs[1].locate("placement.workers");
  EXPECT_EQ(own.label, "jobs.speech.placement.workers");
  EXPECT_TRUE(own.place.ends_with("lab.yaml:6")) << own.place;
  const Origin base = located_two.jobs[1].locate("workload.batch");
  EXPECT_EQ(base.label, "workload.batch");
  EXPECT_TRUE(base.place.ends_with("lab.yaml:3: job 'speech'")) << base.place;
}

TEST_F(JobsFile, ReadersOfOneJobRefuseSeveral) {
  EXPECT_EQ(error_of(two),
            "lab.yaml: key 'jobs': expected an experiment of one job, found several jobs, which only tandem "
            "simulate, run, study, validate and show know");
}

const std::string sharing =
    "data: {source: storage, shared: true, cache_capacity: 1MB}\nplacement: {cache_nodes: [c]}\njobs:\n";

TEST_F(JobsFile, JobsThatShareCacheNodesMayDifferElsewhere) {
  const auto jobs =
      located(minimal + sharing +
              "  a: {data.cache: icache, data.sampling: importance, data.cache_options.benefit: 0.9}\n"
              "  b: {data.cache: icache, data.sampling: importance, data.cache_options: {benefit: "
              "0.2}, seed: 7, workload.batch: 3, data.prefetch: 4, start: 3s}\n"
              "  c: {data.shared: false, data.cache: minio}\n")
          .jobs;
  ASSERT_EQ(jobs.size(), 3U);
  EXPECT_TRUE(jobs[1].experiment.data.shared);
  EXPECT_EQ(jobs[1].experiment.data.cache_options.at("benefit"), OptionValue(0.2));
  EXPECT_EQ(
      refusal(minimal + sharing +
              "  a: {data.cache: icache, data.sampling: importance}\n"
              "  b: {data.cache: icache, data.sampling: importance, data.cache_options: {split: 0.5}}\n")
          .substr(0, 42),
      "lab.yaml:7: key 'jobs.b.data.cache_options");
}

class RefusedJobs : public JobsFile, public ::testing::WithParamInterface<Refusal> {};

TEST_P(RefusedJobs, SaysWhereAndWhy) { EXPECT_EQ(refusal(minimal + GetParam().text), GetParam().message); }

INSTANTIATE_TEST_SUITE_P(
    Form, RefusedJobs,
    ::testing::Values(
        Refusal{"NoJob", "jobs: {}\n",
                "lab.yaml:3: key 'jobs': expected a map of at least one job, found nothing"},
        Refusal{"Nothing", "jobs:\n",
                "lab.yaml:3: key 'jobs': expected a map of at least one job, found nothing"},
        Refusal{"List", "jobs: [a, b]\n",
                "lab.yaml:3: key 'jobs': expected a map of at least one job, found a list"},
        Refusal{"TwoOfOneName", "jobs:\n  a: {}\n  a: {}\n",
                "lab.yaml:5: key 'jobs.a': expected once, found again (first in line 4)"},
        Refusal{"NoFolderName", "jobs:\n  a/b: {}\n",
                "lab.yaml:4: key 'jobs': expected a name of letters, digits, - and _, found 'a/b'"},
        Refusal{"ParentFolder", "jobs:\n  ..: {}\n",
                "lab.yaml:4: key 'jobs': expected a name of letters, digits, - and _, found '..'"},
        Refusal{"Word", "jobs: {a: asp}\n", "lab.yaml:3: key 'jobs.a': expected a map of keys, found 'asp'"},
        Refusal{"UnknownKey", "jobs:\n  a:\n    workload.bach: 3\n",
                "lab.yaml:5: unknown key 'jobs.a.workload.bach'; did you mean 'workload.batch'?"},
        Refusal{
            "BadValue", "jobs:\n  a:\n    workload.batch: many\n",
            "lab.yaml:5: key 'jobs.a.workload.batch': expected integer >= 1 and <= 1000000, found 'many'"},
        Refusal{"KeyTwice", "jobs:\n  a: {seed: 1, seed: 2}\n",
                "lab.yaml:4: key 'jobs.a.seed': expected once, found again (first in line 4)"},
        Refusal{
            "BadStart", "jobs:\n  a: {start: -1s}\n",
            "lab.yaml:4: key 'jobs.a.start': expected time >= 0 (like 10s; ns us ms s min h d), found '-1s'"},
        Refusal{"JobsWithinAJob", "jobs:\n  a: {jobs: {b: {}}}\n",
                "lab.yaml:4: key 'jobs.a.jobs': expected a key that jobs can override, found 'jobs'"},
        Refusal{"VariantsWithinAJob", "jobs:\n  a: {variants.b.seed: 3}\n",
                "lab.yaml:4: key 'jobs.a.variants.b.seed': expected a key that jobs can override, found "
                "'variants'"},
        Refusal{"OtherPlatform", "jobs:\n  a: {platform: lab.xml}\n",
                "lab.yaml:4: key 'jobs.a.platform': expected a key that jobs can override: all of them share "
                "one, found 'platform'"},
        Refusal{"SharedMemory", "jobs:\n  a: {data.shared: true}\n  b: {data.shared: true}\n",
                "lab.yaml:4: key 'jobs.a.data.shared': expected false, because workers have their samples in "
                "memory "
                "(data.source), found 'true'"},
        Refusal{"SharedPolicy", sharing + "  a: {}\n  b: {data.cache: minio}\n",
                "lab.yaml:7: key 'jobs.b.data.cache': expected 'lru', as of job 'a', because they share "
                "their cache "
                "nodes (data.shared), found 'minio'"},
        Refusal{
            "SharedCapacity", sharing + "  a: {}\n  b: {data.cache_capacity: 2MB}\n",
            "lab.yaml:7: key 'jobs.b.data.cache_capacity': expected '1MB', as of job 'a', because they share "
            "their cache nodes (data.shared), found '2MB'"},
        Refusal{
            "SharedNodes", sharing + "  a: {}\n  b: {placement.cache_nodes: [d]}\n",
            "lab.yaml:7: key 'jobs.b.placement.cache_nodes': expected '[\"c\"]', as of job 'a', because they "
            "share their cache nodes (data.shared), found '[\"d\"]'"},
        Refusal{"SharedStores", sharing + "  a: {placement.stores: [d]}\n  b: {}\n",
                "lab.yaml: job 'b': key 'placement.stores': expected '[\"d\"]', as of job 'a', because "
                "they share "
                "their cache nodes (data.shared), found '[]'"},
        Refusal{"SharedSamples", sharing + "  a: {}\n  b: {workload.train_samples: 50}\n",
                "lab.yaml:7: key 'jobs.b.workload.train_samples': expected '0', as of job 'a', because they "
                "share "
                "their cache nodes (data.shared), found '50'"},
        Refusal{"SharedSeed",
                sharing + "  a: {}\n  b: {seed: 7}\nworkload: {dataset: synthetic, math: real, model: mlp, "
                          "train_samples: 40}\n",
                "lab.yaml:7: key 'jobs.b.seed': expected '1', as of job 'a', because they share their cache "
                "nodes "
                "(data.shared), and data set synthetic is generated from it, found '7'"},
        Refusal{
            "SharedLists",
            sharing + "  a: {data.cache: foresight, data.sampling: importance}\n  b: {data.shared: false}\n",
            "lab.yaml:6: key 'jobs.a.data.cache': expected a policy that does not plan with the list of one "
            "job, "
            "because several jobs share the cache nodes (data.shared), found 'foresight'"},
        Refusal{"ProbeOfOne",
                sharing +
                    "  a: {data.cache: icache, data.sampling: importance, data.cache_options.probe: 4}\n  b: "
                    "{data.shared: false}\n",
                "lab.yaml:6: key 'jobs.a.data.cache_options.probe': expected 0, because no other job shares "
                "the cache nodes (data.shared), found '4'"},
        Refusal{"SharedPlan",
                sharing + "  a: {data.cache: hoard, data.sampling: shuffled, data.peers: plan}\n",
                "lab.yaml:6: key 'jobs.a.data.peers': expected none, partition or ring, because several jobs "
                "share "
                "the cache nodes (data.shared), found 'plan'"},
        Refusal{"Restarts", "jobs:\n  a: {recovery.mode: restart, evaluate_every: 2, workload.math: real}\n",
                "lab.yaml:4: key 'jobs.a.recovery.mode': expected in-place, because several jobs run at the "
                "same time, found 'restart'"}),
    [](const auto& test) { return test.param.name; });

TEST_F(JobsFile, AnOverrideOfNoJobIsRefused) {
  EXPECT_EQ(refusal(minimal, {{"jobs.a b.seed", "3"}}),
            "--set: key 'jobs': expected a name of letters, digits, - and _, found 'a b'");
  EXPECT_THROW(with_overrides(load(minimal), {{"jobs.a.seed", "3"}}, "lab"), ConfigError);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
