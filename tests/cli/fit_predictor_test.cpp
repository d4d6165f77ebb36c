// `tandem fit speed` and `checkpoint`: a law that made a table is found again, rows outside what was seen get
// no time, and what is no table is refused; `tandem show MODEL`, which has the features.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/command.hpp"
#include "workloads/model/features.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class FitPredictor : public ::testing::Test {
 protected:
  /// Ten networks on two devices, twice each: 10 ms + flops / rate + 100 us a launch, in steps per second.
  void make_table() const {
    std::string table = "network,gpu,matrix_flops,launches,batch,precision,speed,step_time\n";
    for (const auto& [device, rate] : {std::pair("slow", 1e11), {"fast", 4e11}})
      for (int network = 0; network < 10; ++network) {
        const double flops = 1e9 * (1 + network);
        const int launches = 50 * (1 + network * network % 7);
        const double step_s = 0.01 + flops / rate + 1e-4 * launches;
        for (int repetition = 0; repetition < 2; ++repetition)
          table += "net" + std::to_string(network) + ',' + device + ',' + json(flops).dump() + ',' +
                   std::to_string(launches) + ",128,fp32," + json(1.0 / step_s).dump() + ',' +
                   json(step_s * 1e3).dump() + "ms\n";
      }
    line_.write("steps.csv", table);
  }
  json fit(const std::string& words) const {
    const auto result = line_.tandem("fit " + words + " --json 2> errors");
    EXPECT_EQ(result.exit_code, 0) << words << '\n' << result.output;
    return json::parse(result.output);
  }
  static ModelFeatures features(const std::string& model) {
    LearnerSetting setting;
    setting.model = model;
    setting.dataset = {.name = "cifar-10", .channels = 3, .height = 32, .width = 32, .classes = 10};
    return features_of(plan_model(setting));
  }
  using Law = double (*)(const std::string& model, double batch);
  /// 5 ms + flops / 1 T + bytes of values / 100 G + 20 us a launch.
  static double step_s(const std::string& model, double batch) {
    const ModelFeatures of = features(model);
    return 5e-3 + batch * of.matrix_flops.count() / 1e12 +
           batch * static_cast<double>(of.elementwise_bytes.count()) / 1e11 +
           20e-6 * static_cast<double>(of.launches);
  }
  /// Layers with less than 100 flops per byte, such as convolutions of 32 channels, take the time of their
  /// bytes.
  static double roofline_s(const std::string& model, double batch) {
    double sum = 5e-3;
    for (const auto& layer : layers_of(features(model), batch))
      sum += std::max(layer.flops / 1e12, layer.bytes / 1e10) + 20e-6 * layer.launches;
    return sum;
  }
  /// Models without columns of features; each row ends with the same cells.
  void make_table_of_models(const std::string& more_columns = "", const std::string& more_cells = "",
                            Law law = step_s) const {
    std::string table = "model,batch,step_time" + more_columns + '\n';
    for (const char* model :
         {"resnet-cifar:blocks=2-2-2", "resnet-cifar:blocks=2-3-3", "resnet-cifar", "resnet-cifar:filters=16",
          "resnet32", "shake-shake:hidden=16", "shake-shake:hidden=32:depth=14", "shake-shake:hidden=64"})
      for (const int batch : {32, 128})
        table += std::string(model) + ',' + std::to_string(batch) + ',' + json(law(model, batch)).dump() +
                 more_cells + '\n';
    line_.write("models.csv", table);
  }
  /// One worker alone with the predictor speed.json: a round is a step, with its update and without messages.
  CommandResult simulate(const std::string& more) const {
    return line_.tandem(
        "simulate job.yaml --set stop.rounds=5 --set sync.over=all-reduce --set "
        "placement.servers=[] --set physics.predictor=speed.json --out out --force "
        "--set placement.workers=[site-1-t4-1] --set workload.batch=64 " +
        more);
  }
  CommandLine line_;
};

constexpr const char* by_network = "speed steps.csv --group network --device gpu --target ";

TEST_F(FitPredictor, FindsTheLawOfEachDevice) {
  make_table();
  line_.write("ask.csv",
              "gpu,matrix_flops,launches,batch,precision\nslow,3.5e9,120,,\nfast,3.5e9,120,128,fp32\n"
              "fast,2e10,120,,\nfaster,3.5e9,120,,\nfast,3.5e9,120,64,\nfast,3.5e9,120,,fp16\n");
  const json found = fit(by_network + std::string("step_time --ask ask.csv --out speed.json"));
  EXPECT_EQ(found.at("features"), json({"matrix_flops", "launches"})) << "the batch is the same in all rows";
  ASSERT_EQ(found.at("devices").size(), 2U);
  const json& fast = found.at("devices")[0];
  EXPECT_EQ(fast.at("device"), "fast");
  EXPECT_EQ(fast.at("precision"), "fp32");
  EXPECT_EQ(fast.at("batch"), json({128.0, 128.0}));
  EXPECT_EQ(fast.at("groups"), 10);
  EXPECT_EQ(fast.at("form").at("name"), "additive");
  EXPECT_LT(fast.at("errors").at("mean").get<double>(), 1e-6);
  const json& asked = found.at("asked");
  ASSERT_EQ(asked.size(), 6U);
  EXPECT_NEAR(asked[0].at("value_s").get<double>(), 0.01 + 0.035 + 0.012, 1e-7);
  EXPECT_NEAR(asked[1].at("value_s").get<double>(), 0.01 + 0.00875 + 0.012, 1e-7);
  EXPECT_THAT(asked[2].at("refused").get<std::string>(),
              HasSubstr("matrix_flops is 2e+10, but was 1e+09 to 1e+10"));
  EXPECT_THAT(asked[3].at("refused").get<std::string>(),
              HasSubstr("device faster was not measured, only fast, slow"));
  EXPECT_EQ(asked[4].at("refused"), "batch is 64, but was 128 to 128 where it was measured");
  EXPECT_EQ(asked[5].at("refused"), "precision fp16 was not measured, only fp32");
  const json written = json::parse(std::ifstream(line_.folder() / "speed.json"));
  EXPECT_EQ(written.at("devices"), found.at("devices"));
  const json rates = fit(by_network + std::string("speed"));
  EXPECT_EQ(rates.at("devices")[0].at("form").at("name"), "additive") << "times, not rates, are sums";
  const auto text = line_.tandem(std::string("fit ") + by_network + "speed");
  EXPECT_THAT(text.output, HasSubstr("chosen: additive"));
  EXPECT_THAT(text.output, HasSubstr("runs on fresh machines differ is not known"));
}

TEST_F(FitPredictor, APageShowsPredictedAndMeasuredTimes) {
  make_table();
  const json found = fit(by_network + std::string("step_time --report fitted"));
  const json report = json::parse(std::ifstream(line_.folder() / "fitted/report.json"));
  ASSERT_EQ(report.at("devices").size(), 2U);
  EXPECT_FALSE(found.at("devices")[0].contains("held_out"));
  const json& points = report.at("devices")[0].at("held_out");
  ASSERT_EQ(points.size(), 10U) << "two readings of each network are one point";
  EXPECT_EQ(points[0].at("group"), "net0");
  for (const json& point : points) {
    EXPECT_NEAR(point.at("predicted_s").get<double>(), point.at("measured_s").get<double>(), 1e-6);
    EXPECT_LE(point.at("lower_s").get<double>(), point.at("predicted_s").get<double>());
    EXPECT_GE(point.at("upper_s").get<double>(), point.at("predicted_s").get<double>());
  }
  EXPECT_NEAR(points[0].at("measured_s").get<double>(), 0.01 + 1e9 / 4e11 + 50e-4, 1e-9);
  const std::string text = line_.shell("cat fitted/report.md").output;
  EXPECT_THAT(text, HasSubstr("| fast | additive | 10 | "));
  EXPECT_THAT(text, HasSubstr("fast: mean error "));
  EXPECT_THAT(line_.shell("cat fitted/report.html").output, HasSubstr("\"interval\":"));
}

TEST_F(FitPredictor, KnowsTheFeaturesOfModels) {
  make_table_of_models();
  line_.write("ask.csv", "model,batch\nresnet-cifar:blocks=3-4-3,64\nresnet-cifar:blocks=90-90-90,64\n");
  const json found = fit("speed models.csv --target step_time --group model --ask ask.csv");
  EXPECT_EQ(found.at("features"), json({"matrix_flops", "elementwise_bytes", "launches", "optimizer_bytes"}));
  EXPECT_EQ(found.at("devices")[0].at("batch"), json({32.0, 128.0}));
  EXPECT_LT(found.at("devices")[0].at("errors").at("mean").get<double>(), 1e-5);
  const double expected = step_s("resnet-cifar:blocks=3-4-3", 64);
  EXPECT_NEAR(found.at("asked")[0].at("value_s").get<double>(), expected, 1e-5 * expected);
  EXPECT_TRUE(found.at("asked")[1].contains("refused"));
  const json of_flops =
      fit("speed models.csv --target step_time --group model --features matrix_flops,launches");
  EXPECT_EQ(of_flops.at("features"), json({"matrix_flops", "launches"}));
  EXPECT_THAT(of_flops.dump(), HasSubstr("layers that are not known")) << "flops say all there is";
}

/// Loading adds microseconds.
TEST_F(FitPredictor, SimulationsTakeIt) {
  constexpr int rounds = 5;
  constexpr const char* model = "resnet-cifar:blocks=3-4-3";
  make_table_of_models(",gpu,precision", ",t4,fp32");
  fit("speed models.csv --target step_time --group model --device gpu --out speed.json");
  ASSERT_EQ(line_.tandem("init job --gpus t4:1 --model resnet32").exit_code, 0);
  const auto simulated = simulate(std::string("--set workload.model=") + model);
  ASSERT_EQ(simulated.exit_code, 0) << simulated.output;
  EXPECT_THAT(simulated.output, HasSubstr("1 x t4 (step of 64 samples"));
  EXPECT_THAT(simulated.output, HasSubstr(" ms, fitted ("));
  EXPECT_THAT(simulated.output, HasSubstr("devices: as fast as physics.predictor says"));
  const double expected = rounds * step_s(model, 64);
  const json summary = json::parse(std::ifstream(line_.folder() / "out/summary.json"));
  EXPECT_NEAR(summary.at("makespan_s").get<double>(), expected, 2e-3 * expected);
  const json run = json::parse(std::ifstream(line_.folder() / "out/run.json"));
  EXPECT_EQ(run.at("devices"), "fitted");
  const json& step = run.at("physics").at("fitted_steps").at(0);
  EXPECT_EQ(step.at("device"), "t4");
  EXPECT_NEAR(step.at("step_s").get<double>(), step_s(model, 64), 1e-5 * step_s(model, 64));
  EXPECT_LE(step.at("lower_s").get<double>(), step.at("step_s").get<double>() * (1 + 1e-3));
  EXPECT_GE(step.at("upper_s").get<double>(), step.at("step_s").get<double>() * (1 - 1e-3));

  const auto refuses = [&](const std::string& more, const std::string& part) {
    const auto result = simulate(more);
    EXPECT_EQ(result.exit_code, 2) << result.output;
    EXPECT_THAT(result.output, HasSubstr(part));
  };
  refuses("--set workload.batch=256",
          "key 'physics.predictor': expected a predictor that knows batch 256 on device t4 (it knows 32 to "
          "128)");
  refuses("--set sync.algorithm=lb-bsp --set sync.over=server --set placement.servers=[server]",
          "because sync.algorithm=lb-bsp gives steps other batches");
  refuses("--set workload.precision=fp16", "knows fp16 on device t4 (it knows fp32)");
  refuses("--set workload.model=resnet-cifar:blocks=90-90-90", "knows such a model on device t4 (");
  refuses("--set workload.model=synthetic", "expected a model of `tandem list model`, whose features");
  refuses("--set workload.measured_step=50ms", "because the time of a step is given");
  refuses("--set placement.workers=[site-1-t4-1,server]", "knows device epyc-7742 (it knows t4)");
  line_.write("speed.json", "{\"predictor\": \"speed\"}");
  refuses("", "speed.json: ");
}

/// A law that no sum over the whole network follows.
TEST_F(FitPredictor, SimulationsTakeTheTimesOfLayers) {
  constexpr int rounds = 5;
  constexpr const char* model = "resnet-cifar:blocks=3-4-3";
  make_table_of_models(",gpu,precision", ",t4,fp32", roofline_s);
  const json found = fit("speed models.csv --target step_time --group model --device gpu --out speed.json");
  const json& form = found.at("devices")[0].at("form");
  EXPECT_EQ(form.at("name"), "roofline");
  EXPECT_NEAR(form.at("layers").at("flop_s").get<double>(), 1e-12, 1e-15);
  EXPECT_NEAR(form.at("layers").at("byte_s").get<double>(), 1e-10, 1e-13);
  EXPECT_LT(found.at("devices")[0].at("errors").at("mean").get<double>(), 1e-3);
  ASSERT_EQ(line_.tandem("init job --gpus t4:1 --model resnet32").exit_code, 0);
  const auto simulated = simulate(std::string("--set workload.model=") + model);
  ASSERT_EQ(simulated.exit_code, 0) << simulated.output;
  const double expected = rounds * roofline_s(model, 64);
  const json summary = json::parse(std::ifstream(line_.folder() / "out/summary.json"));
  EXPECT_NEAR(summary.at("makespan_s").get<double>(), expected, 2e-3 * expected);
}

TEST_F(FitPredictor, OfCheckpointsIsTheSame) {
  std::string table = "network,checkpoint_bytes,tensors,written\n";
  for (int i = 0; i < 6; ++i) {
    const double bytes = 1e6 * (1 + i * i), tensors = 50 + 40 * (i % 3);
    table += std::to_string(i) + ',' + json(bytes).dump() + ',' + json(tensors).dump() + ',' +
             json(0.2 + bytes / 1e8 + 1e-3 * tensors).dump() + '\n';
  }
  line_.write("written.csv", table);
  const json found = fit("checkpoint written.csv --target written --group network");
  EXPECT_EQ(found.at("predictor"), "checkpoint");
  EXPECT_LT(found.at("devices")[0].at("errors").at("mean").get<double>(), 1e-6);
}

/// A write of the model takes a second, or two.
TEST_F(FitPredictor, CommitsTakeIt) {
  ASSERT_EQ(line_.tandem("init job --gpus t4:1 --model resnet32").exit_code, 0);
  const auto makespan_s = [&](const std::string& more) {
    const auto simulated = line_.tandem(
        "simulate job.yaml --set stop.rounds=5 --set checkpoint.policy=fixed --set "
        "checkpoint.options.interval=1 --out out --force " +
        more);
    EXPECT_EQ(simulated.exit_code, 0) << simulated.output;
    return json::parse(std::ifstream(line_.folder() / "out/summary.json")).at("makespan_s").get<double>();
  };
  const double by_disk_s = makespan_s("");
  std::vector<double> found_s;
  for (const int seconds : {1, 2}) {
    std::string table = "network,checkpoint_bytes,written\n";
    for (int i = 0; i < 6; ++i)
      table +=
          std::to_string(i) + ',' + json(5e5 * (1 + i)).dump() + ',' + json(seconds + 1e-9 * i).dump() + '\n';
    line_.write("written.csv", table);
    fit("checkpoint written.csv --target written --group network --out checkpoint.json");
    found_s.push_back(makespan_s("--set physics.commit_predictor=checkpoint.json"));
  }
  EXPECT_GT(found_s[0], by_disk_s + 3.0);
  EXPECT_GT(found_s[1], found_s[0] + 3.0) << "some commits of a second each";
  EXPECT_NEAR(makespan_s("--set physics.commit_predictor=checkpoint.json --fidelity priced"), found_s[1],
              0.1 * found_s[1]);
  const auto swapped =
      line_.tandem("simulate job.yaml --set stop.rounds=5 --set physics.predictor=checkpoint.json");
  EXPECT_EQ(swapped.exit_code, 2);
  EXPECT_THAT(swapped.output, HasSubstr("expected 'speed', a predictor of step times for physics.predictor, "
                                        "found 'checkpoint'"));
}

TEST_F(FitPredictor, RefusesWhatIsNoTable) {
  const auto refuses = [&](const std::string& table, const std::string& words, const std::string& part) {
    line_.write("bad.csv", table);
    const auto result = line_.tandem("fit speed bad.csv --target t --group g " + words);
    EXPECT_EQ(result.exit_code, 2) << result.output;
    EXPECT_THAT(result.output, HasSubstr(part));
  };
  refuses("g,t,f\na,1,1\na,2,2\n", "--features f",
          "bad.csv:2: g: expected at least three groups (each is predicted without it), found 1: a");
  refuses("g,t,f\na,1,1\nb,2,nan\n", "--features f", "bad.csv:3: f: expected a finite number, found 'nan'");
  refuses("g,t,f\na,1,1\nb,2,\n", "--features f", "bad.csv:3: f: expected a finite number");
  refuses("g,t,f\na,1,7\nb,2,7\nc,3,7\n", "--features f",
          "bad.csv:2: expected features that differ, found that 'f' is 7");
  refuses("g,t,f\na,0,1\nb,2,2\n", "--features f", "bad.csv:2: t: expected a time above 0");
  refuses("g,t,f\n,1,1\n", "--features f", "bad.csv:2: g: expected a name");
  refuses("g,t,f\n", "--features f", "expected rows below the header");
  refuses("g,t,f\na,1,1\n", "", "bad.csv:1: expected the columns of --features, some of matrix_flops");
  refuses("g,t,f\na,1,1\n", "--features f,t",
          "expected other columns than target, group and device, found 't'");
  refuses("g,t,model\na,1,resnet32\nb,2,resnet33\n", "", "bad.csv:3: model: unknown model 'resnet33'");
  refuses("g,t,f\na,1,1\n", "--features f --device d", "expected a column 'd'");
  refuses("g,t,f,batch\na,1,1,32\nb,2,2,64\n", "--features f", "bad.csv:3: batch: expected 32");
  refuses("g,t,f,precision\na,1,1,fp32\nb,2,2,tf32\n", "--features f",
          "bad.csv:3: precision: expected 'fp32'");
}

TEST_F(FitPredictor, ModelsShowTheirFeatures) {
  const auto shown = line_.tandem("show resnet-cifar:blocks=2-3-3 --json 2> errors");
  ASSERT_EQ(shown.exit_code, 0) << shown.output;
  const json model = json::parse(shown.output);
  EXPECT_EQ(model.at("parameters"), 1'063'226);
  EXPECT_EQ(model.at("tensors"), 62);
  EXPECT_EQ(model.at("dataset"), "cifar-10");
  for (const char* feature :
       {"matrix_flops", "matrix_bytes", "elementwise_bytes", "launches", "optimizer_bytes"})
    EXPECT_GT(model.at(feature).get<double>(), 0.0) << feature;
  const auto text = line_.tandem("show shake-shake:hidden=96 --dataset fashion-mnist");
  EXPECT_THAT(text.output, Not(HasSubstr("grouped")));
  EXPECT_THAT(text.output, HasSubstr("normalisation"));
  const auto unknown = line_.tandem("show resnet-cifra");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.output, HasSubstr("did you mean 'resnet-cifar'?"));
  // An experiment takes such a name.
  const auto simulated = line_.tandem("simulate " + line_.experiment() +
                                      " --set workload.model=resnet-cifar:blocks=1-1-1:filters=16 --out out");
  EXPECT_EQ(simulated.exit_code, 0) << simulated.output;
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
