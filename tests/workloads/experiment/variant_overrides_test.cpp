// What the command line changes in the variants of an experiment.
#include <gtest/gtest.h>

#include "tests/workloads/experiment/experiment_text.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::ExperimentFile;
using testing::minimal;

TEST_F(ExperimentFile, TheCommandLineOverridesVariants) {
  const std::string text = minimal + "variants: {a: {stop.rounds: 3, workload.bucket_bytes: 1MiB}, b: {}}\n";
  const Experiment loaded = load(text, {{"stop.rounds", "7"}, {"workload.bucket_bytes", "2MiB"}});
  for (const std::string variant : {"a", "b"}) {
    EXPECT_EQ(apply_variant(loaded, variant).stop.rounds, 7) << variant;
    EXPECT_EQ(apply_variant(loaded, variant).workload.bucket_bytes, Bytes(2 << 20)) << variant;
  }
  const Experiment own = load(text, {{"stop.rounds", "7"}, {"variants.a.stop.rounds", "9"}});
  EXPECT_EQ(apply_variant(own, "a").stop.rounds, 9);
  EXPECT_EQ(apply_variant(own, "b").stop.rounds, 7);
}

TEST_F(ExperimentFile, ABadValueOnTheCommandLineNamesTheKeyThatWasGiven) {
  const std::string text =
      minimal + "variants: {a: {workload.batch: 4, sync: {algorithm: local-sgd}}, b: {}}\n";
  EXPECT_EQ(error_of(text, {{"workload.batch", "0"}}),
            "--set: key 'workload.batch': expected integer >= 1 and <= 1000000, found '0'");
  EXPECT_EQ(error_of(text, {{"sync.options.h", "[1]"}}),
            "--set: key 'sync.options.h': expected true, false, a number or text, found a list");
  EXPECT_EQ(error_of(text, {{"variants.a.workload.batch", "0"}}),
            "--set: key 'variants.a.workload.batch': expected integer >= 1 and <= 1000000, found '0'");
}

/// `tandem study` says so: the variants may be equal now.
TEST_F(ExperimentFile, ReplacedKeysOfVariantsAreKnown) {
  const std::string text = minimal + "variants: {a: {stop.rounds: 3}, b: {stop.rounds: 7}, c: {}}\n";
  const std::string path = folder_.write("lab.yaml", text);
  EXPECT_TRUE(load_located(path, {{"workload.batch", "4"}}, "").replaced.empty());
  EXPECT_TRUE(load_located(path, {{"variants", "{}"}}, "").replaced.empty());
  EXPECT_EQ(load_located(path, {{"stop.rounds", "7"}}, "").replaced,
            std::vector<std::string>{"stop.rounds of variant 'a'"});
}

TEST_F(ExperimentFile, ReplacingAnAlgorithmOnTheCommandLineDropsItsOptions) {
  const std::string text = minimal + "variants: {a: {sync.algorithm: local-sgd, sync.options.h: 8}}\n";
  const Experiment loaded = load(text, {{"sync.algorithm", "asp"}});
  EXPECT_EQ(apply_variant(loaded, "a").sync.algorithm, "asp");
  EXPECT_TRUE(apply_variant(loaded, "a").sync.options.empty());
  EXPECT_EQ(apply_variant(load(text, {{"sync.algorithm", "local-sgd"}}), "a").sync.options.at("h"),
            OptionValue(std::int64_t{8}));
}

TEST_F(ExperimentFile, ReplacingTheCommonAlgorithmDropsOptionsOfVariantsThatItDoesNotHave) {
  const std::string text = minimal +
                           "checkpoint: {policy: fixed, options: {interval: 5}}\n"
                           "variants: {a: {checkpoint.options: {interval: 8, margin: 0.2}}, b: {}, "
                           "c: {checkpoint: {policy: fixed, options: {interval: 9}}}}\n";
  const Experiment loaded = load(text, {{"checkpoint.policy", "budget"}});
  for (const std::string variant : {"a", "b", "c"}) {
    EXPECT_EQ(apply_variant(loaded, variant).checkpoint.policy, "budget");
    EXPECT_FALSE(apply_variant(loaded, variant).checkpoint.options.contains("interval")) << variant;
  }
  EXPECT_EQ(apply_variant(loaded, "a").checkpoint.options.at("margin"), OptionValue(0.2));
  const Experiment same = load(text, {{"checkpoint.policy", "fixed"}});
  EXPECT_EQ(apply_variant(same, "a").checkpoint.options.at("interval"), OptionValue(8.0));
  EXPECT_EQ(error_of(text, {{"checkpoint.policy", "budgt"}}).substr(0, 60),
            "--set: key 'checkpoint.policy': expected a checkpointing pol");
}

const std::string committing = minimal + "checkpoint: {policy: fixed, options: {interval: 5}}\n";

/// It is an option of neither policy.
TEST_F(ExperimentFile, ReplacingAnAlgorithmHidesNoMistypedOption) {
  const std::string of_base = minimal + "checkpoint: {policy: fixed, options: {intervall: 5}}\n";
  EXPECT_NE(error_of(of_base, {{"checkpoint.policy", "budget"}}).find("'intervall'"), std::string::npos);
  for (const std::string keys :
       {"{checkpoint.options.intervall: 8}", "{checkpoint: {policy: fixed, options: {intervall: 8}}}"}) {
    const std::string error =
        error_of(committing + "variants: {a: " + keys + "}\n", {{"checkpoint.policy", "budget"}});
    EXPECT_NE(error.find("'intervall'"), std::string::npos) << error;
  }
}

TEST_F(ExperimentFile, AVariantWhoseAlgorithmIsGivenHasTheOptionsOfThatOne) {
  const std::string text = committing + "variants: {a: {checkpoint.options.interval: 8}, b: {}}\n";
  const Experiment loaded =
      load(text, {{"checkpoint.policy", "budget"}, {"variants.a.checkpoint.policy", "fixed"}});
  EXPECT_EQ(apply_variant(loaded, "a").checkpoint.policy, "fixed");
  EXPECT_EQ(apply_variant(loaded, "a").checkpoint.options.at("interval"), OptionValue(8.0));
  EXPECT_EQ(apply_variant(loaded, "b").checkpoint.policy, "budget");
  const Experiment other = load(text, {{"variants.a.checkpoint.policy", "budget"}});
  EXPECT_FALSE(apply_variant(other, "a").checkpoint.options.contains("interval"));
  EXPECT_EQ(apply_variant(other, "b").checkpoint.options.at("interval"), OptionValue(5.0));
}

/// Also where the algorithm of the experiment has one of that name, which the variant replaces.
TEST_F(ExperimentFile, AnOptionOnTheCommandLineIsForTheAlgorithmsOfVariants) {
  const std::string text =
      committing + "variants: {a: {checkpoint.policy: budget}, b: {checkpoint.policy: ''}}\n";
  const Experiment loaded = load(text, {{"checkpoint.options.margin", "0.2"}});
  EXPECT_EQ(loaded.checkpoint.options.at("margin"), OptionValue(0.2));
  EXPECT_EQ(apply_variant(loaded, "a").checkpoint.options.at("margin"), OptionValue(0.2));
  EXPECT_TRUE(apply_variant(loaded, "b").checkpoint.options.empty());
}

/// Here the options of the experiment belong to no policy yet.
TEST_F(ExperimentFile, OptionsWithoutAnAlgorithmAreForTheOneThatIsGiven) {
  const Experiment loaded =
      load(minimal + "checkpoint: {options: {interval: 5}}\n", {{"checkpoint.policy", "fixed"}});
  EXPECT_EQ(loaded.checkpoint.options.at("interval"), OptionValue(5.0));
  const Experiment off =
      load(committing + "variants: {a: {checkpoint.options.interval: 8}}\n", {{"checkpoint.policy", ""}});
  EXPECT_TRUE(apply_variant(off, "a").checkpoint.options.empty());
}

}  // namespace TANDEM_FILE
}  // namespace tandem
