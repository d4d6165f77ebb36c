// Reading experiment files: what is accepted, and the exact message of every kind of bad input.
#include <gtest/gtest.h>

#include "policies/sync/policy.hpp"
#include "policies/vocabulary/check.hpp"
#include "tests/workloads/experiment/experiment_text.hpp"
#include "workloads/job/check/catalogues.hpp"
#include "workloads/job/check/experiment_file.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::ExperimentFile;
using testing::minimal;
using testing::Refusal;
using testing::RefusedFile;

std::string names_of(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : " | ") + name;
  return text;
}
const std::string algorithms = names_of(sync::catalog().names());
const std::string models = names_of(catalogue_of(Names::model).names());

// ---- What is accepted ----

TEST_F(ExperimentFile, DefaultsAreThoseOfTheStruct) {
  const Experiment loaded = load(minimal);
  Experiment expected;
  expected.name = "lab";
  expected.platform = folder_.path("lab.xml");
  expected.stop.rounds = 5;
  EXPECT_EQ(to_json(loaded), to_json(expected));
}

TEST_F(ExperimentFile, EveryKindOfValue) {
  const Experiment loaded = load(
      "name: 007\nplatform: lab.xml\nworkload:\n  math: real\n  bucket_bytes: 4MiB\n"
      "sync: {algorithm: local-sgd, options: {h: 8}}\n"
      "placement:\n  workers: [a, 2]\n  evaluator: c\noptimizer.learning_rate: 1e-3\n"
      "stop:\n  seconds: 5min\nseed: 18446744073709551615\n");
  EXPECT_EQ(loaded.name, "007");
  EXPECT_EQ(loaded.workload.math, Experiment::Workload::Math::real);
  EXPECT_EQ(loaded.workload.bucket_bytes, Bytes(4 << 20));
  EXPECT_EQ(loaded.sync.options.at("h"), OptionValue(std::int64_t{8}));
  EXPECT_EQ(loaded.placement.workers, (std::vector<std::string>{"a", "2"}));
  EXPECT_EQ(loaded.placement.evaluator, "c");
  EXPECT_EQ(loaded.optimizer.learning_rate, 1e-3);
  EXPECT_EQ(loaded.stop.seconds, Seconds(300));
  EXPECT_EQ(loaded.seed, 18446744073709551615ULL);
}

TEST_F(ExperimentFile, AutoRingsAreZero) {
  EXPECT_EQ(load(minimal).sync.rings, 1);
  EXPECT_EQ(load(minimal + "sync: {rings: auto}\n").sync.rings, 0);
  EXPECT_EQ(load(minimal + "sync: {rings: 4}\n").sync.rings, 4);
  EXPECT_EQ(load(minimal, {{"sync.rings", "auto"}}).sync.rings, 0);
}

TEST_F(ExperimentFile, ResolvesOptions) {
  const Experiment loaded = load(minimal + "sync: {algorithm: local-sgd}\n");
  EXPECT_EQ(loaded.sync.options.at("h"), OptionValue(std::int64_t{4}));
}

TEST_F(ExperimentFile, OverridesReplaceValuesOfTheFile) {
  const Experiment loaded = load(minimal + "sync: {algorithm: local-sgd, options: {h: 8}}\nseed: 3\n",
                                 {{"workload.batch", "7"},
                                  {"placement.workers", "[a, b]"},
                                  {"placement.servers", "c"},
                                  {"workload.bucket_bytes", "1kB"},
                                  {"name", "a: b"},
                                  {"sync.options.h", "2"}});
  EXPECT_EQ(loaded.workload.batch, 7);
  EXPECT_EQ(loaded.placement.workers, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(loaded.placement.servers, (std::vector<std::string>{"c"}));
  EXPECT_EQ(loaded.workload.bucket_bytes, Bytes(1000));
  EXPECT_EQ(loaded.name, "a: b");
  EXPECT_EQ(loaded.sync.options.at("h"), OptionValue(std::int64_t{2}));
  EXPECT_EQ(loaded.seed, 3U);
}

TEST_F(ExperimentFile, AnotherAlgorithmDropsTheOptions) {
  const Experiment loaded =
      load(minimal + "sync: {algorithm: local-sgd, options: {h: 8}}\n", {{"sync.algorithm", "bsp"}});
  EXPECT_TRUE(loaded.sync.options.empty());
}

TEST_F(ExperimentFile, AnotherCheckpointPolicyDropsTheOptions) {
  const Experiment loaded = load(minimal + "checkpoint: {policy: fixed, options: {interval: 8}}\n",
                                 {{"checkpoint.policy", "young"}, {"checkpoint.options.mtbf_s", "3600"}});
  EXPECT_FALSE(loaded.checkpoint.options.contains("interval"));
  EXPECT_EQ(loaded.checkpoint.options.at("mtbf_s"), OptionValue(3600.0));
}

TEST_F(ExperimentFile, PlatformIsTakenFromTheFileThenTheWorkingDirectory) {
  folder_.write("deep/lab.yaml", "platform: ../lab.xml\nstop.rounds: 1\n");
  EXPECT_EQ(load_experiment(folder_.path("deep/lab.yaml")).platform, folder_.path("lab.xml"));
  folder_.write("other/here.xml", "<platform/>");
  std::filesystem::current_path(folder_.path("other"));
  EXPECT_EQ(load("platform: here.xml\nstop.rounds: 1\n").platform, folder_.path("other/here.xml"));
  std::filesystem::current_path("/");
}

TEST_F(ExperimentFile, Variants) {
  const Experiment loaded = load(minimal +
                                 "sync: {algorithm: local-sgd, options: {h: 8}}\nvariants:\n  as-is:\n"
                                 "  wide: {sync.options: {h: 16}, workload.bucket_bytes: 2MiB}\n"
                                 "  nested:\n    sync:\n      algorithm: asp\n    stop.rounds: 7\n");
  ASSERT_EQ(loaded.variants.size(), 3U);
  EXPECT_EQ(loaded.variants.at("wide").dump(), R"({"sync.options.h":16,"workload.bucket_bytes":2097152})");
  const Experiment same = apply_variant(loaded, "as-is");
  EXPECT_EQ(same.name, "lab/as-is");
  EXPECT_EQ(same.sync.options.at("h"), OptionValue(std::int64_t{8}));
  EXPECT_TRUE(same.variants.empty());
  EXPECT_EQ(apply_variant(loaded, "wide").sync.options.at("h"), OptionValue(std::int64_t{16}));
  const Experiment nested = apply_variant(loaded, "nested");
  EXPECT_EQ(nested.sync.algorithm, "asp");
  EXPECT_FALSE(nested.sync.options.contains("h"));
  EXPECT_EQ(nested.stop.rounds, 7);
}

TEST_F(ExperimentFile, VariantsCanBeOverriddenAndCleared) {
  const std::string text = minimal + "variants: {asp: {sync.algorithm: asp}}\n";
  const Experiment more =
      load(text, {{"variants.fast.workload.batch", "1"}, {"variants.asp.stop.rounds", "9"}});
  EXPECT_EQ(apply_variant(more, "fast").workload.batch, 1);
  EXPECT_EQ(apply_variant(more, "asp").stop.rounds, 9);
  EXPECT_EQ(apply_variant(more, "asp").sync.algorithm, "asp");
  EXPECT_TRUE(load(text, {{"variants", "{}"}}).variants.empty());
  EXPECT_FALSE(load(text, {{"variants.asp.sync.options", "~"}}).variants.at("asp").contains("sync.options"));
}

/// An override is for the chosen variant; without one, it is for all.
TEST_F(ExperimentFile, AnOverrideNeedNotSuitTheOtherVariants) {
  const std::string text =
      minimal + "variants:\n  server: {}\n  ring: {sync.over: all-reduce, sync.collective: ring}\n";
  const std::string path = folder_.write("lab.yaml", text);
  const Overrides requested = {{"sync.pull", "requested"}};
  EXPECT_EQ(load_located(path, requested, "server").experiment.sync.pull, ServerPull::requested);
  EXPECT_THROW(load_located(path, requested, "ring"), ConfigError);
  EXPECT_THROW(load_located(path, requested, ""), ConfigError);
}

// ---- What is rejected ----

TEST_P(RefusedFile, SaysWhereAndWhy) { EXPECT_EQ(error_of(GetParam().text), GetParam().message); }

INSTANTIATE_TEST_SUITE_P(
    Form, RefusedFile,
    ::testing::Values(Refusal{"Empty", "", "lab.yaml: expected an experiment, found an empty file"},
                      Refusal{"OnlyComments", "# nothing\n",
                              "lab.yaml: expected an experiment, found an empty file"},
                      Refusal{"List", "- a\n", "lab.yaml:1: expected a map of keys, found a list"},
                      Refusal{"Word", "hello\n", "lab.yaml:1: expected a map of keys, found 'hello'"},
                      Refusal{"TwoDocuments", minimal + "---\n" + minimal,
                              "lab.yaml:3: expected one YAML document, found the start of a second one"},
                      Refusal{"Broken", "platform: [lab.xml\nstop: {rounds: 5}\n",
                              "lab.yaml:2: malformed YAML: end of sequence flow not found"},
                      Refusal{"KeyIsAList", minimal + "? [a, b]\n: 1\n",
                              "lab.yaml:3: key '': expected a word as a key, found a map or list"},
                      Refusal{"KeyWithoutAName", minimal + "'': 1\n",
                              "lab.yaml:3: key '': expected the name of a key or a variant, found nothing"},
                      Refusal{"VariantWithoutAName", minimal + "variants: {'': {seed: 3}}\n",
                              "lab.yaml:3: key '': expected the name of a key or a variant, found nothing"},
                      Refusal{"Twice", "platform: lab.xml\nseed: 1\nseed: 2\n",
                              "lab.yaml:3: key 'seed': expected once, found again (first in line 2)"},
                      Refusal{"SectionTwice", minimal + "sync: {over: server}\nsync: {algorithm: asp}\n",
                              "lab.yaml:4: key 'sync': expected once, found again (first in line 3)"},
                      Refusal{"TwiceInTwoForms", minimal + "sync: {over: server}\nsync.over: server\n",
                              "lab.yaml:4: key 'sync.over': expected once, found again (first in line 3)"},
                      Refusal{"SectionIsAWord", minimal + "sync: asp\n",
                              "lab.yaml:3: key 'sync': expected a map of keys, found 'asp'"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Keys, RefusedFile,
    ::testing::Values(Refusal{"UnknownNear", minimal + "workload:\n  bach: 3\n",
                              "lab.yaml:4: unknown key 'workload.bach'; did you mean 'workload.batch'?"},
                      Refusal{"UnknownInAnotherSection", minimal + "batch: 3\n",
                              "lab.yaml:3: unknown key 'batch'; did you mean 'workload.batch'?"},
                      Refusal{"UnknownSection", minimal + "snyc:\n  algorithm: asp\n",
                              "lab.yaml:3: unknown key 'snyc'; did you mean 'sync'?"},
                      Refusal{"UnknownFar", minimal + "zzzzzzzzzzzz: 1\n",
                              "lab.yaml:3: unknown key 'zzzzzzzzzzzz'"},
                      Refusal{"UnknownBeatsWrong", "seed: x\nplatfrom: lab.xml\n",
                              "lab.yaml:2: unknown key 'platfrom'; did you mean 'platform'?"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Values, RefusedFile,
    ::testing::Values(
        Refusal{"WordForInteger", minimal + "workload:\n  batch: many\n",
                "lab.yaml:4: key 'workload.batch': expected integer >= 1 and <= 1000000, found 'many'"},
        Refusal{"FractionForInteger", minimal + "workload: {batch: 1.5}\n",
                "lab.yaml:3: key 'workload.batch': expected integer >= 1 and <= 1000000, found '1.5'"},
        Refusal{"TextForInteger", minimal + "workload: {batch: '64'}\n",
                "lab.yaml:3: key 'workload.batch': expected integer >= 1 and <= 1000000, found text '64'"},
        Refusal{"WordForRings", minimal + "sync: {rings: many}\n",
                "lab.yaml:3: key 'sync.rings': expected integer >= 0 and <= 16 | auto, found 'many'"},
        Refusal{"TooManyRings", minimal + "sync: {rings: 17}\n",
                "lab.yaml:3: key 'sync.rings': expected integer >= 0 and <= 16 | auto, found '17'"},
        Refusal{"AutoForAnotherInteger", minimal + "workload: {batch: auto}\n",
                "lab.yaml:3: key 'workload.batch': expected integer >= 1 and <= 1000000, found 'auto'"},
        Refusal{"Zero", minimal + "workload: {batch: 0}\n",
                "lab.yaml:3: key 'workload.batch': expected integer >= 1 and <= 1000000, found '0'"},
        Refusal{"Negative", minimal + "stop.epochs: -1\n",
                "lab.yaml:3: key 'stop.epochs': expected number >= 0 and <= 1000000000, found '-1'"},
        Refusal{
            "TooLargeForItsType", minimal + "workload: {batch: 99999999999}\n",
            "lab.yaml:3: key 'workload.batch': expected integer >= 1 and <= 1000000, found '99999999999'"},
        Refusal{"NotANumber", minimal + "stop.epochs: .nan\n",
                "lab.yaml:3: key 'stop.epochs': expected number >= 0 and <= 1000000000, found '.nan'"},
        Refusal{"OpenBound", minimal + "optimizer:\n  learning_rate: 0\n",
                "lab.yaml:4: key 'optimizer.learning_rate': expected number > 0, found '0'"},
        Refusal{"OpenUpperBound", minimal + "optimizer: {momentum: 1}\n",
                "lab.yaml:3: key 'optimizer.momentum': expected number >= 0 and < 1, found '1'"},
        Refusal{"NegativeSeed", minimal + "seed: -1\n",
                "lab.yaml:3: key 'seed': expected integer >= 0, found '-1'"},
        Refusal{"Size", minimal + "workload: {bucket_bytes: 4 apples}\n",
                "lab.yaml:3: key 'workload.bucket_bytes': expected size >= 0 (like 4MiB), found '4 apples'"},
        Refusal{"NegativeSize", minimal + "workload: {bucket_bytes: -4MiB}\n",
                "lab.yaml:3: key 'workload.bucket_bytes': expected size >= 0 (like 4MiB), found '-4MiB'"},
        Refusal{"Time", minimal + "stop.seconds: soon\n",
                "lab.yaml:3: key 'stop.seconds': expected time >= 0 (like 10s; ns us ms s min h d), found "
                "'soon'"},
        Refusal{"Work", minimal + "workload.synthetic_forward: 1Gflops\n",
                "lab.yaml:3: key 'workload.synthetic_forward': expected work >= 0 (like 20Mflop), found "
                "'1Gflops'"},
        Refusal{"Choice", minimal + "sync:\n  over: mail\n",
                "lab.yaml:4: key 'sync.over': expected server | all-reduce | peers, found 'mail'"},
        Refusal{"Math", minimal + "workload: {math: yes}\n",
                "lab.yaml:3: key 'workload.math': expected modelled | real, found 'yes'"},
        Refusal{"MapForValue", minimal + "seed: {a: 1}\n",
                "lab.yaml:3: key 'seed': expected integer >= 0, found a map"},
        Refusal{"ListForText", minimal + "name: [a]\n",
                "lab.yaml:3: key 'name': expected text, found a list"},
        Refusal{"Nothing", minimal + "seed:\n",
                "lab.yaml:3: key 'seed': expected integer >= 0, found nothing"},
        Refusal{"ListOfMaps", minimal + "placement:\n  workers:\n    - {a: 1}\n",
                "lab.yaml:4: key 'placement.workers': expected list of names, found a list"},
        Refusal{"OptionsAreAWord", minimal + "sync: {options: 4}\n",
                "lab.yaml:3: key 'sync.options': expected map of options, found '4'"},
        Refusal{"OptionIsAList", minimal + "sync: {options: {h: [4]}}\n",
                "lab.yaml:3: key 'sync.options.h': expected true, false, a number or text, found a list"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Sense, RefusedFile,
    ::testing::Values(
        Refusal{"NoPlatform", "stop: {rounds: 5}\n",
                "lab.yaml: key 'platform': expected a SimGrid platform file, found nothing"},
        Refusal{"NoStop", "platform: lab.xml\n",
                "lab.yaml: key 'stop': expected at least one of rounds, epochs and seconds above 0, found "
                "nothing"},
        Refusal{"Algorithm", minimal + "sync:\n  algorithm: bps\n",
                "lab.yaml:4: key 'sync.algorithm': expected a sync algorithm (" + algorithms +
                    "), found 'bps'; did you mean 'bsp'?"},
        Refusal{
            "ModelOfOnesOwn", minimal + "workload: {model: llama-7b}\n",
            "lab.yaml:3: key 'workload.model': expected a model (" + models +
                "), found 'llama-7b'; another model is given by its sizes (workload.model: synthetic, with "
                "workload.synthetic_parameters, workload.synthetic_forward and "
                "workload.synthetic_backward), or as a TorchScript file (FILE.pt)"},
        Refusal{"Model", minimal + "workload: {model: lenett}\n",
                "lab.yaml:3: key 'workload.model': expected a model (" + models +
                    "), found 'lenett'; did you mean 'lenet'?"},
        Refusal{
            "ModelOption", minimal + "workload:\n  model: resnet-cifar:blocks=2-3\n",
            "lab.yaml:4: key 'workload.model': expected options of the model, found model 'resnet-cifar': "
            "option 'blocks': expected three numbers from 1 to 200 such as 2-3-3, found '2-3'"},
        Refusal{"Option", minimal + "sync:\n  algorithm: local-sgd\n  options:\n    h: 0\n",
                "lab.yaml:6: key 'sync.options' of local-sgd: option 'h': expected integer >= 1, found '0'"},
        Refusal{"UnknownOption", minimal + "sync:\n  algorithm: local-sgd\n  options: {g: 3}\n",
                "lab.yaml:5: key 'sync.options' of local-sgd: unknown option 'g'; did you mean 'h'?"},
        Refusal{"OptionOfALifetime", minimal + "transience: {options: {mean: 4h}}\n",
                "lab.yaml:3: key 'transience.options.mean': expected transience.lifetime, too (tandem list "
                "lifetime), found machines that never depart"},
        Refusal{"ATimeOfRounds", minimal + "checkpoint: {policy: fixed, options: {interval: 5min}}\n",
                "lab.yaml:3: key 'checkpoint.options.interval': expected a number of rounds, or a time with "
                "checkpoint.options.unit=seconds, found '5min'"},
        Refusal{"SlowNativeDevices", minimal + "run: {devices: native, slowdown_probability: 0.1}\n",
                "lab.yaml:3: key 'run.slowdown_probability': expected 0, because the speed of native devices "
                "cannot be changed (run.devices), found '0.1'"},
        Refusal{"SumsWithoutTime", minimal + "run: {sum_timeout: 0s}\n",
                "lab.yaml:3: key 'run.sum_timeout': expected time > 0 (like 10s; ns us ms s min h d), found "
                "'0s'"},
        Refusal{"SlowdownThatSpeedsUp", minimal + "run.slowdown_factor: 0.5\n",
                "lab.yaml:3: key 'run.slowdown_factor': expected number >= 1, found '0.5'"},
        Refusal{"TargetOverOne", minimal + "target_accuracy: 85\n",
                "lab.yaml:3: key 'target_accuracy': expected number >= 0 and <= 1, found '85'"},
        Refusal{
            "UnknownProvisioning", minimal + "recovery: {provisioning: diversfy}\n",
            "lab.yaml:3: key 'recovery.provisioning': expected a provisioning policy (same | other-zone | "
            "longest-living | diversify | tiers | cheapest | work-per-dollar | expected-value | mixture | "
            "deadline), found 'diversfy'; did you mean 'diversify'?"},
        Refusal{
            "ProvisioningWithAnOptionOfAnother",
            minimal + "recovery: {provisioning: other-zone, provisioning_options: {youn_s: 60}}\n",
            "lab.yaml:3: key 'recovery.provisioning_options' of other-zone: unknown option 'youn_s'; did you "
            "mean 'young_s'?"},
        Refusal{"NetworkWithoutProfile", minimal + "physics: {network: profile}\n",
                "lab.yaml: key 'physics.profile': expected a file made by `tandem calibrate`, because "
                "physics.network is profile, found nothing"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Variants, RefusedFile,
    ::testing::Values(
        Refusal{"UnknownKey", minimal + "variants:\n  a:\n    sync.algoritm: asp\n",
                "lab.yaml:5: unknown key 'variants.a.sync.algoritm'; did you mean 'sync.algorithm'?"},
        Refusal{
            "WrongValue", minimal + "variants:\n  a:\n    workload.batch: 0\n",
            "lab.yaml:5: key 'variants.a.workload.batch': expected integer >= 1 and <= 1000000, found '0'"},
        Refusal{"WrongName", minimal + "variants: {a/b: {seed: 2}}\n",
                "lab.yaml:3: key 'variants': expected a name of letters, digits, - and _, found 'a/b'"},
        Refusal{"Unnameable", minimal + "variants: {a: {name: b}}\n",
                "lab.yaml:3: key 'variants.a.name': expected a key that variants can override, found 'name'"},
        Refusal{"NoMap", minimal + "variants: {a: asp}\n",
                "lab.yaml:3: key 'variants.a': expected a map of keys, found 'asp'"},
        Refusal{"NoMapAtAll", minimal + "variants: [a]\n",
                "lab.yaml:3: key 'variants': expected map of variants, found a list"},
        Refusal{"Twice", minimal + "variants:\n  a: {seed: 2}\n  a: {seed: 3}\n",
                "lab.yaml:5: key 'variants.a': expected once, found again (first in line 4)"},
        Refusal{"SenseOfItsOwnKey", minimal + "variants:\n  a:\n    sync.algorithm: bps\n",
                "lab.yaml:5: key 'variants.a.sync.algorithm': expected a sync algorithm (" + algorithms +
                    "), found 'bps'; did you mean 'bsp'?"},
        Refusal{
            "SenseOfAnInheritedKey",
            minimal + "sync.algorithm: asp\nvariants: {ring: {sync.over: all-reduce}}\n",
            "lab.yaml:3: variant 'ring': key 'sync.algorithm': expected one that works over all-reduce "
            "(sequential | bsp | local-sgd | post-local-sgd | adacomm | esync | esync-published | fedavg | "
            "slowmo | diloco | easgd | group-average), because asp works over server, found 'asp'"}),
    [](const auto& test) { return test.param.name; });

/// Words of other programs.
TEST_F(ExperimentFile, AnUnknownKeyIsUnderstoodByItsMeaning) {
  for (const auto& [word, key] :
       std::map<std::string, std::string>{{"stop.target_accuracy", "stop.accuracy"},
                                          {"epochs", "stop.epochs"},
                                          {"max_epochs", "stop.epochs"},
                                          {"lr", "optimizer.learning_rate"},
                                          {"optimizer.lr", "optimizer.learning_rate"},
                                          {"batch_size", "workload.batch"},
                                          {"batch-size", "workload.batch"},
                                          {"workers", "placement.workers"},
                                          {"num_workers", "placement.worker_count"},
                                          {"iterations", "stop.rounds"},
                                          {"dtype", "workload.precision"},
                                          {"cluster", "platform"}}) {
    EXPECT_EQ(error_of(minimal, {{word, "1"}}),
              "--set: unknown key '" + word + "'; did you mean '" + key + "'?");
    EXPECT_EQ(find_experiment_key(key)->path, key);
  }
}

TEST_F(ExperimentFile, AnAccuracyToStopAtNeedsEvaluationsAndAnotherLimit) {
  const std::string accuracy = minimal + "stop.accuracy: 0.9\n";
  EXPECT_EQ(
      error_of(accuracy),
      "lab.yaml:3: key 'stop.accuracy': expected 0, because nothing is learnt (workload.math is modelled; "
      "real is needed), found '0.9'");
  EXPECT_EQ(
      error_of(accuracy + "workload.math: real\n"),
      "lab.yaml:3: key 'stop.accuracy': expected 0, because nothing is evaluated (evaluate_every is 0), "
      "found '0.9'");
  EXPECT_EQ(error_of("platform: lab.xml\nstop.accuracy: 0.9\n"),
            "lab.yaml: key 'stop': expected rounds, epochs or seconds above 0 with accuracy, which may never "
            "be reached, found nothing");
  EXPECT_EQ(load(accuracy + "workload.math: real\nevaluate_every: 2\n").stop.accuracy, 0.9);
}

TEST_F(ExperimentFile, RefusesOverrides) {
  EXPECT_EQ(error_of(minimal, {{"workload.batch", "0"}}),
            "--set: key 'workload.batch': expected integer >= 1 and <= 1000000, found '0'");
  EXPECT_EQ(error_of(minimal, {{"workload.batch", ""}}),
            "--set: key 'workload.batch': expected integer >= 1 and <= 1000000, found nothing");
  EXPECT_EQ(error_of(minimal, {{"sync.algo", "asp"}}),
            "--set: unknown key 'sync.algo'; did you mean 'sync.algorithm'?");
  EXPECT_EQ(error_of(minimal, {{"placement.workers", "[a"}}),
            "--set: key 'placement.workers': malformed YAML: end of sequence flow not found");
  EXPECT_EQ(error_of(minimal, {{"sync", "asp"}}), "--set: key 'sync': expected a map of keys, found 'asp'");
  EXPECT_EQ(error_of(minimal, {{"sync.algorithm", "asp"}, {"sync.over", "all-reduce"}}),
            "--set: key 'sync.algorithm': expected one that works over all-reduce (sequential | bsp | "
            "local-sgd | post-local-sgd | adacomm | esync | esync-published | fedavg | slowmo | diloco | "
            "easgd | group-average), because asp works over server, found 'asp'");
}

TEST_F(ExperimentFile, APlatformThatIsOverriddenNeedNotExist) {
  EXPECT_EQ(load("platform: none.xml\nstop.rounds: 1\n", {{"platform", folder_.path("lab.xml")}}).platform,
            folder_.path("lab.xml"));
}

TEST_F(ExperimentFile, RefusesMissingFiles) {
  EXPECT_EQ(error_of("platform: none.xml\nstop.rounds: 1\n"),
            "lab.yaml:1: key 'platform': expected a platform file at 'none.xml' or '" +
                (std::filesystem::current_path() / "none.xml").string() + "', found no such file");
  const auto message_of = [](const std::string& path) -> std::string {
    try {
      load_experiment(path);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message_of("/nowhere/lab.yaml"),
            "/nowhere/lab.yaml: cannot read the experiment file: No such file or directory");
  EXPECT_EQ(message_of("/tmp"), "/tmp: cannot read the experiment file: Is a directory");
}

TEST(Overrides, KeyAndValue) {
  EXPECT_EQ(parse_override("a.b=c=d"), (std::pair<std::string, std::string>{"a.b", "c=d"}));
  EXPECT_EQ(parse_override("a="), (std::pair<std::string, std::string>{"a", ""}));
  for (const char* text : {"seed", "=3", ""}) {
    try {
      parse_override(text);
      FAIL() << text;
    } catch (const ConfigError& error) {
      EXPECT_EQ(error.what(), "--set: expected KEY=VALUE, found '" + std::string(text) + "'");
    }
  }
}

TEST_F(ExperimentFile, RefusesUnknownVariants) {
  const Experiment loaded = load(minimal + "variants: {asp: {sync.algorithm: asp}}\n");
  try {
    apply_variant(loaded, "aps");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), "experiment 'lab': unknown variant 'aps'; did you mean 'asp'? Known: asp");
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem
