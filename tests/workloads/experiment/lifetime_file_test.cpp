// transience.lifetime as a file that `tandem fit lifetimes --out` writes: what it sets, what replaces it,
// errors.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/workloads/experiment/experiment_text.hpp"
#include "workloads/experiment/yaml.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::ExperimentFile;
using testing::minimal;
using Options = std::map<std::string, OptionValue>;

class LifetimeFileKey : public ExperimentFile {
 protected:
  void SetUp() override {
    ExperimentFile::SetUp();
    folder_.write("model.json", R"({
 "groups": [{"name": "never", "options": {}, "values": {"region": "eu"}}],
 "name": "weibull",
 "options": {"lost": 0.25, "scale": 7200.0, "shape": 0.5},
 "source": {"file": "a.csv"}
})");
  }
  static std::string with(const std::string& lifetime, const std::string& more = "") {
    return minimal + "transience:\n" + more + "  lifetime: " + lifetime + "\n";
  }
  /// Of an experiment with this file.
  std::string error_of_file(const std::string& text) {
    folder_.write("bad.json", text);
    return error_of(with("bad.json"));
  }
  const Options written_ = {
      {"by_host", "region=eu: never"}, {"lost", 0.25}, {"scale", 7200.0}, {"shape", 0.5}};
};

TEST_F(LifetimeFileKey, IsNameAndOptionsOfAModel) {
  const Experiment experiment = load(with("model.json"));
  EXPECT_EQ(experiment.transience.lifetime, "weibull");
  EXPECT_EQ(experiment.transience.options, written_);
  // What is resolved does not need the file.
  std::filesystem::remove(folder_.path("model.json"));
  EXPECT_EQ(to_json(load(to_yaml(experiment))), to_json(experiment));
}

/// Their columns are properties of hosts.
TEST_F(LifetimeFileKey, GroupsAreModelsOfTheirHosts) {
  folder_.write("groups.json", R"({"name": "exponential", "options": {"mean": 3600.0}, "groups": [
 {"name": "weibull", "options": {"scale": 7200.0, "shape": 0.5}, "values": {"device": "k80", "region": "eu"}},
 {"name": "empirical", "options": {"survival": "0.5,0", "times": "1,2"},
  "values": {"device": "k80", "region": "us"}}]})");
  EXPECT_EQ(load(with("groups.json")).transience.options,
            (Options{{"by_host",
                      "device=k80 region=eu: weibull scale=7200.0 shape=0.5; device=k80 region=us: empirical "
                      "survival=0.5,0 times=1,2"},
                     {"mean", 3600.0}}));
  EXPECT_EQ(load(with("groups.json"), {{"transience.lifetime", "never"}}).transience.options, Options());
  EXPECT_EQ(error_of_file("{\"name\": \"never\", \"options\": {}, \"groups\": [\n{\"name\": \"nver\", "
                          "\"options\": {}, \"values\": {}}]}")
                .substr(0, 70),
            "bad.json:2: not a lifetime model: /groups/0/name: expected never | fix");
  folder_.write("words.json", R"({"name": "exponential", "options": {}, "groups": [
 {"name": "never", "options": {}, "values": {"region": "US East", "my zone": "a:b;c=50%"}}]})");
  EXPECT_EQ(load(with("words.json")).transience.options,
            (Options{{"by_host", "my%20zone=a%3Ab%3Bc%3D50%25 region=US%20East: never"}}));
}

/// As the experiment is loaded: no host belongs to the groups.
TEST_F(LifetimeFileKey, AllGroupsAreChecked) {
  const auto error_of_groups = [this](const std::string& lifetime, const std::string& groups) {
    return error_of(with(lifetime, "  options: {by_host: '" + groups + "'}\n"));
  };
  const std::string key = "lab.yaml:4: key 'transience.options.by_host': ";
  EXPECT_EQ(error_of_groups("weibull", "region=eu: never; region=us: fixed tim=3")
                .find(key + "group 'region=us: fixed tim=3': "),
            0U);
  EXPECT_EQ(
      error_of_groups("weibull", "region=eu: never; region=us: wei").find(key + "group 'region=us: wei': "),
      0U);
  EXPECT_EQ(
      error_of_groups("weibull", "region=us: fixed time=-1").find(key + "group 'region=us: fixed time=-1': "),
      0U);
  EXPECT_EQ(error_of_groups("weibull", "region: never"),
            key + "group 'region: never': expected PROPERTY=VALUE, found 'region'");
  EXPECT_EQ(error_of_groups("weibull", "region=eu: never; region=us: fixed time=3"), "no error");
}

TEST_F(LifetimeFileKey, GroupsNeedMachinesThatDepart) {
  EXPECT_EQ(error_of(with("never", "  options: {by_host: 'region=eu: fixed time=3'}\n")),
            "lab.yaml:4: key 'transience.options.by_host': expected an empty option, because no machine "
            "departs (transience.lifetime is never), found 'region=eu: fixed time=3'");
  EXPECT_EQ(error_of(with("never", "  options: {by_host: ''}\n")), "no error");
}

TEST_F(LifetimeFileKey, OptionsReplaceSingleOnesOfTheFile) {
  const auto transience = load(with("model.json", "  options: {scale: 1h}\n")).transience;
  EXPECT_EQ(transience.options,
            (Options{{"by_host", "region=eu: never"}, {"lost", 0.25}, {"scale", 3600.0}, {"shape", 0.5}}));
  const auto given = load(with("model.json"), {{"transience.options.shape", "0.9"}}).transience;
  EXPECT_EQ(given.options,
            (Options{{"by_host", "region=eu: never"}, {"lost", 0.25}, {"scale", 7200.0}, {"shape", 0.9}}));
}

TEST_F(LifetimeFileKey, ReplacesWhatIsBelow) {
  const std::string below = with("exponential", "  options: {mean: 5h}\n");
  const auto over = load(below, {{"transience.lifetime", folder_.path("model.json")}}).transience;
  EXPECT_EQ(over.lifetime, "weibull");
  EXPECT_EQ(over.options, written_);
  const Experiment experiment =
      load(below +
           "variants: {fitted: {transience.lifetime: model.json}, other: {transience.lifetime: "
           "bathtub, transience.options: {a: 0.5}}}\n");
  EXPECT_EQ(apply_variant(experiment, "fitted").transience.lifetime, "weibull");
  EXPECT_EQ(apply_variant(experiment, "fitted").transience.options, written_);
  const auto all = load(to_yaml(experiment), {{"transience.lifetime", folder_.path("model.json")}});
  EXPECT_EQ(apply_variant(all, "other").transience.options, written_) << "an override is for all variants";
}

/// Also where the model has the same name: an option that the file lacks has its default.
TEST_F(LifetimeFileKey, DropsAllOptionsOfTheModelBefore) {
  const std::string below = with("weibull", "  options: {shape: 0.7, scale: 5h, limit: 24h}\n");
  EXPECT_EQ(load(below, {{"transience.lifetime", folder_.path("model.json")}}).transience.options, written_);
  folder_.write("other.json", R"({"name": "exponential", "options": {"mean": 3600.0}})");
  const auto last = load(below, {{"transience.lifetime", folder_.path("model.json")},
                                 {"transience.lifetime", folder_.path("other.json")}})
                        .transience;
  EXPECT_EQ(last.lifetime, "exponential");
  EXPECT_EQ(last.options, (Options{{"mean", 3600.0}}));
}

TEST_F(LifetimeFileKey, LeavesTheOptionsByWhichVariantsDiffer) {
  const std::string text = with("weibull", "  options: {shape: 0.7, limit: 24h}\n") +
                           "variants: {short: {transience.options.scale: 1h}, long: "
                           "{transience.options.scale: 6h}, mean: {transience: {lifetime: exponential, "
                           "options: {mean: 1h}}}}\n";
  const Experiment fitted = load(text, {{"transience.lifetime", folder_.path("model.json")}});
  const auto options_of = [&](const std::string& variant) {
    return apply_variant(fitted, variant).transience.options;
  };
  EXPECT_EQ(options_of("short"),
            (Options{{"by_host", "region=eu: never"}, {"lost", 0.25}, {"scale", 3600.0}, {"shape", 0.5}}));
  EXPECT_EQ(options_of("long"),
            (Options{{"by_host", "region=eu: never"}, {"lost", 0.25}, {"scale", 21600.0}, {"shape", 0.5}}));
  EXPECT_EQ(options_of("mean"), written_);
  const Experiment given =
      load(text, {{"transience.lifetime", folder_.path("model.json")}, {"transience.options.scale", "2h"}});
  EXPECT_EQ(apply_variant(given, "long").transience.options.at("scale"), OptionValue(7200.0));
}

TEST_F(LifetimeFileKey, RefusesBadFilesWithTheirLine) {
  EXPECT_EQ(error_of(with("absent.json")).substr(0, 118),
            "lab.yaml:4: key 'transience.lifetime': expected a lifetime model, or a file that `tandem fit "
            "lifetimes --out` wrote at");
  EXPECT_EQ(error_of_file("{\n \"name\": \"weibul\",\n \"options\": {}}").substr(0, 60),
            "bad.json:2: not a lifetime model: /name: expected never | fi");
  EXPECT_EQ(error_of_file("{\n \"name\": \"weibull\"}"),
            "bad.json: not a lifetime model: /options: expected keys with values, found no such key");
  EXPECT_EQ(error_of_file("{\"name\": \"weibull\",\n \"options\": {\"scale\": [1]}}"),
            "bad.json:2: not a lifetime model: /options/scale: expected a number, text, true or false, found "
            "[1]");
  EXPECT_EQ(error_of_file("{\"name\": \"weibull\", \"options\": {\"scale\": -1.0}}"),
            "bad.json: key 'transience.options' of weibull: option 'scale': expected number >= 1e-09 and <= "
            "1e+18, found '-1'");
  EXPECT_EQ(error_of_file("{\"na"),
            "bad.json:1:5: expected a lifetime model, found invalid JSON (syntax error while parsing object "
            "key - invalid string: missing closing quote; last read: '\"na'; expected string literal)");
}

}  // namespace TANDEM_FILE
}  // namespace tandem
