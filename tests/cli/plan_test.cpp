// `tandem plan` as a user sees it, on made offers: its figures against hand calculations, and against the
// simulation of the files that it writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/planned_job.hpp"
#include "tests/support/yaml_schema.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

using nlohmann::json;
using ::testing::HasSubstr;

using Plan = PlannedJob;

/// Machines that stay, by hand: each one and the server from the begin to the end, by begun seconds; as many
/// samples by fewer rounds of more workers; and the dearer offer of the same machine is in no configuration.
TEST_F(Plan, MachinesThatStayCostTheirTime) {
  const json found = plan(": on-demand' --max-machines 4");
  const json& row = found.at("rows").at(0);
  EXPECT_EQ(found.at("configurations"), 4);
  EXPECT_EQ(row.at("offer"), "made/here/one/on-demand");
  const int machines = row.at("machines");
  EXPECT_EQ(row.at("rounds").get<int>() * machines, 800);
  EXPECT_THAT(read("out/front.html"), HasSubstr("made/here/one/on-demand, bsp: "));
  const double time_s = row.at("mean_time_s");
  EXPECT_NEAR(time_s, row.at("rounds").get<int>() * row.at("round_s").get<double>(), 1e-9 * time_s);
  EXPECT_NEAR(row.at("mean_cost").get<double>(),
              (0.5 * machines + server_per_hour) * std::ceil(time_s - 1e-6) / 3600, 5e-6);
  // Twice the price, for as many machines.
  const json once = plan(": on-demand' --max-machines 1").at("rows").at(0);
  write_offers(2.0);
  const json twice = plan(": on-demand' --max-machines 1").at("rows").at(0);
  EXPECT_NEAR(twice.at("workers_cost").get<double>(), 2 * once.at("workers_cost").get<double>(), 2e-6);
  EXPECT_EQ(twice.at("mean_time_s"), once.at("mean_time_s"));
}

TEST_F(Plan, SaysHowGoodItsRoundsAreAndWhatItDoesNotPlan) {
  line_.write("offers.csv",
              "provider,region,instance,device,count,kind,price_per_hour,currency,billing_step,"
              "billing_minimum,network_gbps,obtainable,source,date\n"
              "made,here,one,t4,1,spot,0.1,USD,1,10,8,0.3,made,2026-11-01\n");
  const json row = plan("' --max-machines 1").at("rows").at(0);
  EXPECT_EQ(row.at("closed_form"), "approximation");
  const std::string page = read("out/front.html");
  EXPECT_THAT(page, HasSubstr("Closed form of a round: approximation (messages share links as a fluid)"));
  EXPECT_THAT(page,
              HasSubstr("the first ones at once and without paying their boot, each later one after 5"));
  EXPECT_THAT(page, HasSubstr("% of the time (obtainable) delays nothing"));
}

/// The price above which another number of machines is cheaper, from the printed means alone.
TEST_F(Plan, TheBreakEvenIsWhereTheNextOneIsCheaper) {
  const json found = plan("' --max-machines 1");
  const json &chosen = found.at("rows").at(0), &other = found.at("rows").at(1);
  EXPECT_EQ(chosen.at("offer"), "made/here/one/spot");
  EXPECT_EQ(other.at("offer"), "made/here/one/on-demand");
  const double workers = chosen.at("workers_cost"), all = chosen.at("mean_cost");
  EXPECT_NEAR(found.at("price_break_even").get<double>(),
              (other.at("mean_cost").get<double>() - (all - workers)) / workers, 1e-9);
}

/// What the plan writes runs unedited: at once as foretold where machines stay; the life of the experiment's
/// seed is one of those that were foretold where they do not. Workers of one machine depart together.
TEST_F(Plan, TheWrittenFilesRunAndCostAsForetold) {
  for (const std::string kind : {"on-demand", "spot", "pair"}) {
    write_offers(1.0, kind == "pair");
    const json row = plan(": " + kind + "' --max-machines 4").at("rows").at(0);
    const auto run = line_.tandem("simulate out/experiment.yaml --force --out run");
    ASSERT_EQ(run.exit_code, 0) << run.output;
    ASSERT_EQ(line_.tandem("simulate out/experiment.yaml --fidelity priced --force --out priced").exit_code,
              0);
    const json simulated = summary("run"), priced = summary("priced");
    const double time_s = simulated.at("makespan_s"), cost = simulated.at("cost").at("total");
    EXPECT_NEAR(priced.at("makespan_s").get<double>(), time_s, 0.02 * time_s) << kind;
    EXPECT_NEAR(priced.at("cost").at("total").get<double>(), cost, 0.03 * cost) << kind;
    if (kind == "on-demand") {
      EXPECT_NEAR(row.at("mean_time_s").get<double>(), time_s, 0.02 * time_s);
      EXPECT_NEAR(row.at("mean_cost").get<double>(), cost, 0.03 * cost);
    }
    // The band has 90 % of the lives.
    EXPECT_GT(cost, 0.9 * row.at("cost").at("low").get<double>()) << kind;
    EXPECT_LT(cost, 1.1 * row.at("cost").at("high").get<double>()) << kind;
  }
}

/// Twenty fates that the plan has not drawn. The bill is printed with the forecast; not that of another job.
TEST_F(Plan, RunsWithOtherFatesArePaidAsForetold) {
  const json cost = plan(": one spot' --max-machines 2").at("forecast").at("figures").at("cost");
  double paid = 0.0;
  int within = 0;
  for (int seed = 1; seed <= 20; ++seed) {
    const auto run =
        line_.tandem("simulate out/experiment.yaml --force --out run --set seed=" + std::to_string(seed));
    ASSERT_EQ(run.exit_code, 0) << run.output;
    EXPECT_THAT(run.output, ::testing::ContainsRegex("\n  cost: .*\n  forecast of the plan: cost \\$"));
    const double total = summary("run").at("cost").at("total");
    paid += total / 20;
    within += cost.at("low").get<double>() <= total && total <= cost.at("high").get<double>() ? 1 : 0;
  }
  EXPECT_NEAR(paid, cost.at("mean").get<double>(), 0.03 * paid);
  EXPECT_GE(within, 15);
  const auto other = line_.tandem("simulate out/experiment.yaml --force --out run --set stop.rounds=10");
  EXPECT_THAT(other.output, HasSubstr("out/plan.json has a forecast of another job: stop.rounds differs"));
  EXPECT_THAT(other.output, ::testing::Not(HasSubstr("forecast of the plan:")));
}

/// A job that may start again once, on a machine that departs twice in about 2 % of the lives: these never
/// end, so no mean of them is a forecast of a run that ends.
TEST_F(Plan, LivesThatNeverEndAreNoForecast) {
  const json found = plan(
      ": one spot' --max-machines 1 --confidence 0.8 --set recovery.mode=restart --set "
      "recovery.policy=restart --set recovery.restarts=1 --set checkpoint.policy=fixed --set "
      "checkpoint.options.interval=10 --set transience.lifetime=exponential --set "
      "'transience.options={mean: 550}'");
  const json& row = found.at("rows").at(0);
  EXPECT_TRUE(row.at("mean_time_s").is_null());
  EXPECT_TRUE(row.at("time_s").at("high").is_number());
  EXPECT_FALSE(found.contains("forecast"));
}

/// Of four workers, a server that has the time of a message of 100 ms for each push and each reply does two
/// at a time with two cores: its work of a round is shorter by two pushes and two replies, and by one more of
/// each with four. Eight vCPUs of its offer are four cores, of which a host that shares its
/// machine with another one has two.
TEST_F(Plan, CoresOfAServerShortenARoundAsByHand) {
  line_.write("machines.csv",
              "provider,region,instance,device,count,vcpus,kind,price_per_hour,currency,source,date\n"
              "made,here,store,xeon-e5-2650-v4,1,8,on-demand,0.2,USD,made,2026-11-01\n");
  const std::string platform = read("lab.xml"), server = "<host id='server' speed='1Gf'";
  const auto round_s = [&](const std::string& cores, const std::string& properties) {
    std::string with = platform;
    with.replace(with.find(server), server.size() + 1, server + cores + ">" + properties);
    line_.write("cores.xml", with);
    plan(
        ": one on-demand' --max-machines 4 --set platform=cores.xml --set transience.lifetime=never "
        "--set 'transience.options={}'");
    const std::string begin = "made/here/one/on-demand,4,", table = read("out/table.csv");
    const std::size_t row = table.find(begin);
    if (row == std::string::npos) return 0.0;
    // Columns: offer, machines, way, rounds, round_s.
    std::size_t at = row + begin.size();
    for (int skipped = 0; skipped < 2; ++skipped) at = table.find(',', at) + 1;
    return std::stod(table.substr(at));
  };
  const std::string law =
      "<prop id='device' value='xeon-e5-2650-v4'/><prop id='tandem:server_message' value='100ms'/><prop "
      "id='tandem:server_parallel' value='4'/>";
  const double one = round_s(" core='1'", law), two = round_s(" core='2'", law),
               four = round_s(" core='4'", law);
  EXPECT_NEAR(one - two, 2 * 0.2, 1e-6);
  EXPECT_NEAR(two - four, 1 * 0.2, 1e-6);
  EXPECT_THAT(read("out/front.html"), HasSubstr("Cores of servers, as the platform"));
  const std::string offer = "<prop id='offer' value='machines.csv: store'/>";
  EXPECT_NEAR(round_s("", law + offer), four, 1e-6);
  EXPECT_NEAR(round_s("", law + offer + "<prop id='tandem:machine' value='worker-1'/>"), two, 1e-6);
}

/// One machine that lives T, starts again after S, and commits every c rounds, which take no time: it keeps
/// k = floor(T / (c r)) c rounds of a life, and the last life does the rest. Begun seconds of each stay are
/// paid, at least ten. A machine of two devices has one life, and one price.
TEST_F(Plan, LivesTwiceAsLongAreInterruptedAsOftenAsByHand) {
  write_offers(1.0, true);
  struct Machine {
    std::string name;
    int devices;
    double per_hour, life_s;
  };
  for (const auto& [name, devices, per_hour, life_s] :
       {Machine{"one", 1, 0.125, 20}, {"one", 1, 0.125, 40}, {"pair", 2, pair_per_hour, 40}}) {
    const json row =
        plan(": " + name +
             " spot' --max-machines 1 --set recovery.mode=restart --set recovery.policy=restart "
             "--set recovery.restarts=20 --set checkpoint.policy=fixed --set checkpoint.options.interval=10 "
             "--set transience.detect=0 --set transience.lifetime=fixed --set 'transience.options={time: " +
             std::to_string(life_s) + "}'")
            .at("rows")
            .at(0);
    const double round_s = row.at("round_s");
    const int rounds = row.at("rounds"), kept = static_cast<int>(life_s / (10 * round_s)) * 10;
    int lost = 0;
    while ((rounds - lost * kept) * round_s > life_s) ++lost;
    const double last_s = (rounds - lost * kept) * round_s;
    EXPECT_EQ(rounds * devices, 800);
    EXPECT_EQ(row.at("departures"), lost);
    EXPECT_NEAR(row.at("mean_time_s").get<double>(), lost * (life_s + 5) + last_s, 1e-6);
    EXPECT_NEAR(row.at("workers_cost").get<double>(),
                (lost * life_s + std::max(10.0, std::ceil(last_s - 1e-6))) * per_hour / 3600,
                1e-6 * (lost + 1));
  }
}

/// In place, a round is one update of those workers that are there. So a job on machines that live shortly
/// does more rounds, takes longer and costs more.
TEST_F(Plan, AllSamplesAreTrainedHoweverShortMachinesLive) {
  double before = 0.0;
  for (const std::string scale : {"300", "60", "20"}) {
    const json row =
        plan(": one spot' --max-machines 2 --set transience.options.scale=" + scale).at("rows").at(0);
    EXPECT_EQ(row.at("samples"), 25'600);
    EXPECT_NEAR(row.at("mean_samples").get<double>(), 25'600, 0.02 * 25'600) << scale;
    ASSERT_EQ(row.at("machines"), 2);
    EXPECT_GT(row.at("rounds"), 400) << scale;
    EXPECT_GT(row.at("mean_time_s"), before) << scale;
    before = row.at("mean_time_s");
  }
}

/// Commits of 1 s and more are worth it on spot machines; those that stay make none.
TEST_F(Plan, MachinesThatStayMakeNoCommits) {
  std::string platform = read("lab.xml");
  const std::string begin = "speed='1Gf'>";
  for (auto at = platform.find(begin); at != std::string::npos; at = platform.find(begin, at + 1))
    platform.insert(at + begin.size(), "<disk id='d' read_bw='100kBps' write_bw='100kBps'/>");
  line_.write("disks.xml", platform);
  const json found = plan(
      "' --max-machines 1 --set platform=disks.xml --set recovery.mode=restart --set recovery.policy=restart "
      "--set "
      "recovery.restarts=1000 --set checkpoint.policy=fixed --set checkpoint.options.interval=10");
  bool has_stayed = false;
  for (const json& row : found.at("rows")) {
    const double undisturbed = row.at("rounds").get<int>() * row.at("round_s").get<double>();
    if (row.at("offer") == "made/here/one/on-demand") {
      has_stayed = true;
      EXPECT_GT(row.at("commit_every"), row.at("rounds"));
      EXPECT_NEAR(row.at("mean_time_s").get<double>(), undisturbed, 1e-6 * undisturbed);
    } else {
      EXPECT_LT(row.at("commit_every"), row.at("rounds"));
      EXPECT_GT(row.at("mean_time_s").get<double>(), undisturbed + 1);
    }
  }
  EXPECT_TRUE(has_stayed);
}

/// As many samples as 1,000 rounds of two workers: also those whose gradients are dropped, and those of all
/// local steps.
TEST_F(Plan, EachStepOfARoundCounts) {
  for (const std::string algorithm :
       {"k-sync --set sync.options.k=1", "esync --set sync.options.slowest_steps=4"}) {
    SCOPED_TRACE(algorithm);
    plan(": on-demand' --max-machines 2 --set stop.rounds=1000 --set sync.algorithm=" + algorithm);
    // The table has the rows that the plan leaves out, too: offer, machines, way, rounds.
    std::istringstream lines(read("out/table.csv"));
    std::map<int, int> rounds;  // by number of machines
    std::string line, cell;
    std::getline(lines, line);
    while (std::getline(lines, line)) {
      std::istringstream cells(line);
      std::vector<std::string> row;
      while (std::getline(cells, cell, ',')) row.push_back(cell);
      // An offer that is dearer than its like has no number of machines.
      if (!row.at(3).empty()) rounds[std::stoi(row.at(1))] = std::stoi(row.at(3));
    }
    EXPECT_EQ(rounds, (std::map<int, int>{{1, 2000}, {2, 1000}}));
  }
}

/// One machine has fewer workers than k: an experiment with it could not be read. Two have enough.
TEST_F(Plan, AnAlgorithmMayNeedSeveralMachines) {
  const json found =
      plan(": one on-demand' --max-machines 3 --set sync.algorithm=k-sync --set sync.options.k=2");
  EXPECT_EQ(found.at("configurations"), 2);
  EXPECT_THAT(read("out/table.csv"), HasSubstr("1 x made/here/one/on-demand,"));
  EXPECT_THAT(read("out/table.csv"), HasSubstr("expected at most the number of workers (1), found '2'"));
  const auto run = line_.tandem("simulate out/experiment.yaml --out run");
  EXPECT_EQ(run.exit_code, 0) << run.output;
}

/// --fidelity priced, also of a study, whose folder then has no results of another fidelity.
TEST_F(Plan, ResultsInClosedFormSayHowGoodTheyAre) {
  const auto once = line_.tandem("simulate job.yaml --fidelity priced --out once");
  EXPECT_EQ(once.exit_code, 0) << once.output;
  EXPECT_THAT(once.output, HasSubstr("in closed form: approximation (messages share links as a fluid)"));
  const auto study = line_.tandem("study job.yaml --fidelity priced --out study");
  EXPECT_EQ(study.exit_code, 0) << study.output;
  const auto again = line_.tandem("study job.yaml --only-missing --out study");
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.output, HasSubstr("study: holds a study with --fidelity priced"));
  const auto refused = line_.tandem("simulate job.yaml --set sync.algorithm=ssp --fidelity priced --out no");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.output, HasSubstr("`tandem simulate --fidelity transfers` predicts this job"));
}

/// Of equal workers one row says all, unless one of them departs.
TEST_F(Plan, ResultsOfManyWorkersHaveARowPerClass) {
  line_.write("many.xml",
              "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
              "<platform version='4.1'><zone id='z' routing='Full'><cluster id='c' prefix='n-' suffix='' "
              "radical='0-2100' speed='1Gf' bw='1GBps' lat='50us'/></zone></platform>\n");
  line_.write("many.yaml",
              "platform: many.xml\n"
              "workload: {math: modelled, model: lenet, dataset: fashion-mnist, batch: 8}\n"
              "placement: {servers: [n-0]}\n"
              "transience: {lifetime: fixed, options: {times: \"5\"}}\n"
              "recovery: {policy: shrink}\n"
              "stop: {rounds: 100}\n");
  const std::string simulate = "simulate many.yaml --fidelity priced --out ";
  const auto stay =
      line_.tandem(simulate + "stay --set transience.lifetime=never --set 'transience.options={}'");
  ASSERT_EQ(stay.exit_code, 0) << stay.output;
  EXPECT_EQ(summary("stay").at("ranks").size(), 1U);
  std::ifstream run(line_.folder() / "stay" / "run.json");
  EXPECT_EQ(json::parse(run).at("physics").at("closed_form").at("classes"),
            json::parse(R"([{"first": "n-1", "workers": 2100}])"));
  const auto departs = line_.tandem(simulate + "departs");
  ASSERT_EQ(departs.exit_code, 0) << departs.output;
  EXPECT_EQ(summary("departs").at("ranks").size(), 2100U);
}

TEST_F(Plan, AGoalThatNobodyMeetsEndsWithTheNearest) {
  const auto late = line_.tandem("plan job.yaml --offers offers.csv --deadline 5s --out late");
  EXPECT_EQ(late.exit_code, 3) << late.output;
  EXPECT_THAT(late.output, HasSubstr("No way meets 5s with confidence 0.95. The nearest costs $"));
  EXPECT_TRUE(std::filesystem::exists(line_.folder() / "late" / "table.csv"));
  // Out of reach: more lives would not tell more.
  std::ifstream file(line_.folder() / "late" / "plan.json");
  EXPECT_EQ(json::parse(file).at("draws"), 200);
  const auto poor = line_.tandem("plan job.yaml --offers offers.csv --budget 0.0001 --out poor");
  EXPECT_EQ(poor.exit_code, 3) << poor.output;
  EXPECT_THAT(poor.output, HasSubstr("the budget buys "));
}

// ---- What starts it elsewhere, against what is published ----

/// Source: sky/utils/schemas.py (get_task_schema, get_resources_schema) of skypilot-org/skypilot, read
/// 2026-11-30; fields of services, volumes and outputs are left out. Clouds: constants.ALL_CLOUDS.
const std::vector<SchemaField>& skypilot_schema() {
  static const std::vector<SchemaField> fields = {
      {"name", "[a-zA-Z]([-_.a-zA-Z0-9]*[a-zA-Z0-9])?"},
      {"workdir", schema_text},
      {"num_nodes", schema_whole},
      {"envs", ""},
      {"envs|*", schema_text},
      {"file_mounts", ""},
      {"setup", schema_text},
      {"run", schema_text},
      {"resources", ""},
      {"resources|cloud",
       "aws|azure|gcp|ibm|lambda|scp|oci|kubernetes|runpod|vast|vsphere|cudo|fluidstack|"
       "paperspace|do|nebius|ssh|hyperbolic"},
      {"resources|region", schema_text},
      {"resources|zone", schema_text},
      {"resources|instance_type", schema_text},
      {"resources|accelerators", "[A-Za-z0-9-]+:[0-9]+"},
      {"resources|use_spot", schema_flag},
      {"resources|image_id", "(docker:)?[^ ]+"}};
  return fields;
}

/// Source: the custom resource in deploy/v2beta1/mpi-operator.yaml of kubeflow/mpi-operator and
/// pkg/apis/kubeflow/v2beta1/types.go, read 2026-11-30; of pods, the fields of Kubernetes' v1.PodSpec that a
/// job of one container has.
const std::vector<SchemaField>& mpijob_schema() {
  static const std::string replica = "spec|mpiReplicaSpecs|*", pod = replica + "|template|spec",
                           container = pod + "|containers|[]";
  static const std::vector<SchemaField> fields = {
      {"apiVersion", "kubeflow\\.org/v2beta1", true},
      {"kind", "MPIJob", true},
      {"metadata", "", true},
      {"metadata|name", "[a-z0-9]([-a-z0-9]*[a-z0-9])?", true},
      {"spec", "", true},
      {"spec|slotsPerWorker", schema_whole},
      {"spec|sshAuthMountPath", "/.*"},
      {"spec|mpiImplementation", "OpenMPI|Intel|MPICH"},
      {"spec|launcherCreationPolicy", "AtStartup|WaitForWorkersReady"},
      {"spec|runPolicy", ""},
      {"spec|runPolicy|cleanPodPolicy", "None|Running|All"},
      {"spec|mpiReplicaSpecs", "", true},
      {"spec|mpiReplicaSpecs|Launcher", "", true},
      {"spec|mpiReplicaSpecs|Worker", "", true},
      {replica + "|replicas", schema_whole},
      {replica + "|restartPolicy", "Always|OnFailure|Never|ExitCode"},
      {replica + "|template", "", true},
      {pod, "", true},
      {pod + "|containers", "", true},
      {container, ""},
      {container + "|name", "[a-z0-9]([-a-z0-9]*[a-z0-9])?", true},
      {container + "|image", schema_text},
      {container + "|command", ""},
      {container + "|command|[]", schema_text},
      {container + "|args", ""},
      {container + "|args|[]", schema_text},
      {container + "|env", ""},
      {container + "|env|[]", ""},
      {container + "|env|[]|name", schema_text, true},
      {container + "|env|[]|value", schema_text},
      {container + "|resources", ""},
      {container + "|resources|limits", ""},
      {container + "|resources|limits|nvidia.com/gpu", schema_whole},
      {container + "|volumeMounts", ""},
      {container + "|volumeMounts|[]", ""},
      {container + "|volumeMounts|[]|name", schema_text, true},
      {container + "|volumeMounts|[]|mountPath", "/[^:]*", true},
      {pod + "|volumes", ""},
      {pod + "|volumes|[]", ""},
      {pod + "|volumes|[]|name", schema_text, true},
      {pod + "|volumes|[]|configMap", ""},
      {pod + "|volumes|[]|configMap|name", schema_text},
      {pod + "|volumes|[]|persistentVolumeClaim", ""},
      {pod + "|volumes|[]|persistentVolumeClaim|claimName", schema_text, true},
      {pod + "|nodeSelector", ""},
      {pod + "|nodeSelector|*", schema_text},
      {pod + "|tolerations", ""},
      {pod + "|tolerations|[]", ""},
      {pod + "|tolerations|[]|key", schema_text},
      {pod + "|tolerations|[]|operator", "Exists|Equal"},
      {pod + "|tolerations|[]|effect", "NoSchedule|PreferNoSchedule|NoExecute"}};
  return fields;
}

/// A machine of two devices on the cloud `provider`.
std::string offer_of_two(const std::string& provider, const std::string& kind) {
  return "provider,region,zone,instance,device,count,kind,price_per_hour,currency,billing_step,"
         "billing_minimum,network_gbps,source,date\n" +
         provider + ",westus3," + (kind == "spot" ? "use1-az1" : "") + ",NC12,t4,2," + kind +
         ",0.5,USD,1,10,8,made,2026-11-01\n";
}

/// Run by bash with `before`, and with words printed where a job would begin.
std::string words_of_script(const CommandLine& line, const std::string& script, const std::string& before) {
  line.write("script", script);
  return line
      .shell(before +
             " sed 's|/etc/mpi/hostfile|hostfile|; s/^exec [^ ]*/exec printf \"%s \"/' script | "
             "HOME=$PWD bash")
      .output;
}

TEST_F(Plan, ATaskOfSkyPilotConformsToItsSchemaAndStartsAllMachines) {
  line_.write("offers.csv", offer_of_two("azure", "spot"));
  const std::string text =
      printed("--offers offers.csv --max-machines 2 --print-skypilot --set stop.rounds=40");
  const YAML::Node task = YAML::Load(text);
  EXPECT_THAT(schema_problems(task, skypilot_schema()), ::testing::IsEmpty()) << text;
  const YAML::Node resources = task["resources"];
  EXPECT_EQ(resources["cloud"].as<std::string>(), "azure");
  EXPECT_EQ(resources["instance_type"].as<std::string>(), "NC12");
  EXPECT_EQ(resources["accelerators"].as<std::string>(), "T4:2");
  EXPECT_TRUE(resources["use_spot"].as<bool>());
  // The identifier of a zone is not its name.
  EXPECT_FALSE(resources["zone"]);
  EXPECT_EQ(task["workdir"].as<std::string>(), (line_.folder() / "out").string());
  // What the user has to bring is named twice.
  EXPECT_EQ(resources["image_id"].as<std::string>(), "docker:tandem");
  EXPECT_THAT(text, HasSubstr("# The image 'tandem' is the one that runtime/containers builds"));
  EXPECT_THAT(read("notes"), HasSubstr("The image 'tandem' is the one that runtime/containers builds"));
  EXPECT_THAT(read("notes"), HasSubstr("The chosen one costs $"));
  const json plan = json::parse(read("out/plan.json"));
  const int machines = plan.at("rows").at(0).at("machines");
  EXPECT_EQ(task["num_nodes"].as<int>(), machines);
  const std::string nodes = machines == 1 ? "10.0.0.1" : "10.0.0.1,10.0.0.2";
  const std::string spaced = machines == 1 ? "10.0.0.1" : "10.0.0.1 10.0.0.2";
  const std::string words =
      words_of_script(line_, task["run"].as<std::string>(),
                      "export SKYPILOT_NODE_RANK=0 SKYPILOT_NODE_IPS='" + spaced + "';");
  EXPECT_THAT(words, HasSubstr("run experiment.yaml --set transience.lifetime=never --set "
                               "transience.options={} --out " +
                               line_.folder().string() + "/results --force"));
  EXPECT_THAT(words, HasSubstr("--hosts " + nodes + " --map "));
  EXPECT_THAT(words, HasSubstr("--map machine-1-[1-2]=10.0.0.1:[0-1] --map server=10.0.0.1 "));
  EXPECT_EQ(words_of_script(line_, task["run"].as<std::string>(), "export SKYPILOT_NODE_RANK=1;"), "");
}

TEST_F(Plan, AnMpiJobConformsToItsSchemaAndBringsItsFiles) {
  line_.write("offers.csv", offer_of_two("azure", "spot"));
  const std::string text = printed(
      "--offers offers.csv --max-machines 1 --print-mpijob --image registry/tandem:1 --set stop.rounds=40");
  const auto documents = YAML::LoadAll(text);
  ASSERT_EQ(documents.size(), 2U);
  const YAML::Node files = documents[0]["data"], job = documents[1];
  EXPECT_THAT(schema_problems(job, mpijob_schema()), ::testing::IsEmpty()) << text;
  const YAML::Node replicas = job["spec"]["mpiReplicaSpecs"];
  EXPECT_EQ(replicas["Launcher"]["replicas"].as<int>(), 1);
  EXPECT_EQ(replicas["Worker"]["replicas"].as<int>(), 1);
  // Two workers and the server.
  EXPECT_EQ(job["spec"]["slotsPerWorker"].as<int>(), 3);
  const YAML::Node worker = replicas["Worker"]["template"]["spec"];
  EXPECT_EQ(worker["containers"][0]["image"].as<std::string>(), "registry/tandem:1");
  EXPECT_EQ(worker["containers"][0]["resources"]["limits"]["nvidia.com/gpu"].as<int>(), 2);
  EXPECT_EQ(worker["nodeSelector"]["node.kubernetes.io/instance-type"].as<std::string>(), "NC12");
  EXPECT_THAT(text, ::testing::Not(HasSubstr("runtime/containers")));
  EXPECT_THAT(text, HasSubstr("# The plan has machines of their own for server"));
  // The files are those of the plan, and can be read.
  EXPECT_EQ(files["platform.xml"].as<std::string>(), read("out/platform.xml"));
  line_.write("brought/experiment.yaml", files["experiment.yaml"].as<std::string>());
  line_.write("brought/platform.xml", files["platform.xml"].as<std::string>());
  EXPECT_EQ(line_.tandem("show brought/experiment.yaml").exit_code, 0);
  line_.write("hostfile", "tandem-job-worker-0.tandem-job.default.svc slots=3\n");
  const std::string script =
      replicas["Launcher"]["template"]["spec"]["containers"][0]["args"][0].as<std::string>();
  EXPECT_THAT(
      words_of_script(line_, script, ""),
      HasSubstr(
          "--hostfile hostfile --map machine-1-[1-2]=tandem-job-worker-0.tandem-job.default.svc:[0-1] "));
}

/// As a job of several hosts on a node (tests/cli/sbatch_test.cpp): here nodes, time and remarks.
TEST_F(Plan, AScriptForSlurmHasANodeForEachMachine) {
  line_.write("offers.csv", offer_of_two("made", "on-demand"));
  const std::string text = printed("--offers offers.csv --max-machines 1 --print-sbatch");
  EXPECT_TRUE(text.starts_with("#!/bin/bash\n")) << text;
  // A machine of two workers, and the server.
  EXPECT_THAT(text, HasSubstr("#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=2\n"));
  EXPECT_THAT(text, HasSubstr("--map 'machine-1-[1-2]'=\"${nodes[0]}:[0-1]\"\n"));
  EXPECT_THAT(text, HasSubstr("--map server=\"${nodes[1]}\""));
  // Twice 400 rounds of 0.15 s and more.
  EXPECT_THAT(text, HasSubstr("#SBATCH --time=00:0"));
  EXPECT_THAT(text, HasSubstr("# Written by tandem plan: 1 x made/westus3"));
  EXPECT_EQ(
      line_.shell("\"$TANDEM\" plan job.yaml --offers offers.csv --print-sbatch --print-mpijob").exit_code,
      2);
}

/// Names of SkyPilot: a provider without one, and those of GPUs.
TEST_F(Plan, OffersOfUnknownProvidersLeaveTheCloudToSkyPilot) {
  line_.write("offers.csv", offer_of_two("made", "on-demand"));
  const std::string text =
      printed("--offers offers.csv --max-machines 1 --print-skypilot --image registry/tandem:1");
  EXPECT_THAT(schema_problems(YAML::Load(text), skypilot_schema()), ::testing::IsEmpty()) << text;
  EXPECT_THAT(text, HasSubstr("# The provider 'made' is none that SkyPilot is known to have"));
  EXPECT_THAT(text, HasSubstr("image_id: \"docker:registry/tandem:1\""));
}

// ---- Until an accuracy ----

/// Results of the job with one and two workers, with made accuracies.
class AccuratePlan : public Plan {
 protected:
  AccuratePlan() {
    add_curve("one", "--set placement.workers=[worker-1]", {{300, 0.5}, {600, 0.9}, {900, 0.92}});
    add_curve("two", "", {{900, 0.91}});
  }
  void add_curve(const std::string& name, const std::string& settings,
                 const std::vector<std::pair<int, double>>& points) const {
    const auto result = line_.tandem(
        "simulate job.yaml --fidelity priced --set transience.lifetime=never --set "
        "'transience.options={}' --out curves/" +
        name + " " + settings);
    ASSERT_EQ(result.exit_code, 0) << result.output;
    json document = summary("curves/" + name);
    document["evaluations"] = json::array();
    for (const auto& [samples, accuracy] : points)
      document["evaluations"].push_back({{"round", samples / 32},
                                         {"samples", samples},
                                         {"checkpoint_time_s", 1.0},
                                         {"time_s", 1.0},
                                         {"accuracy", accuracy},
                                         {"loss", 1.0}});
    line_.write("curves/" + name + "/summary.json", document.dump());
  }
};

/// 600 samples by one worker and 900 by two are 19 rounds of 32 and 15 of 64. Nothing is known of three and
/// four.
TEST_F(AccuratePlan, TrainsAsManySamplesAsItsCurvesTook) {
  const std::string target = "' --curves curves --target-accuracy 0.9 --max-machines ";
  const json one = plan(": one on-demand" + target + "1").at("rows").at(0);
  EXPECT_EQ(one.at("samples"), 600);
  EXPECT_EQ(one.at("rounds"), 19);
  const json found = plan(": one on-demand" + target + "4 --deadline 2.5s");
  EXPECT_EQ(found.at("configurations"), 2);
  const json& two = found.at("rows").at(0);
  EXPECT_EQ(two.at("machines"), 2);
  EXPECT_EQ(two.at("samples"), 900);
  EXPECT_EQ(two.at("rounds"), 15);
  EXPECT_THAT(
      read("out/table.csv"),
      HasSubstr(
          "3 to 4 x made/here/one/on-demand,,,,,,,,,,,,,,,,,no accuracy curve of bsp with so many workers "
          "(curves: 1 to 2)"));
  EXPECT_THAT(read("out/experiment.yaml"), HasSubstr("rounds: 15"));
}

TEST_F(AccuratePlan, AnAccuracyThatNoCurveReachesIsNamedWithTheNearest) {
  const auto late =
      line_.tandem("plan job.yaml --offers offers.csv --curves curves --target-accuracy 0.95 --out out");
  EXPECT_EQ(late.exit_code, 3) << late.output;
  EXPECT_THAT(late.output,
              HasSubstr("no accuracy curve reaches 0.95; the best one has 0.920 after 900 samples "
                        "(curves/one, 1 worker)"));
  EXPECT_FALSE(std::filesystem::exists(line_.folder() / "out"));
  const auto other = line_.tandem(
      "plan job.yaml --offers offers.csv --curves curves --target-accuracy 0.9 --set workload.batch=16 --out "
      "out");
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.output, HasSubstr("found others: curves/one has workload.batch 32, not 16"));
}

// ---- Bad input, and an early end ----

/// Neither results nor the platforms that were priced remain.
TEST_F(Plan, AnInterruptedPlanLeavesNothing) {
  const auto result = line_.shell(
      "mkdir scratch; TMPDIR=$PWD/scratch \"$TANDEM\" plan job.yaml --offers offers.csv --set "
      "stop.rounds=400000 "
      "--out out & run=$!; for i in $(seq 600); do sleep 0.05; ls scratch/*/0.xml > /dev/null 2>&1 && break; "
      "done; "
      "kill -TERM $run; wait $run; code=$?; ls scratch; exit $code");
  EXPECT_EQ(result.exit_code, 128 + 15) << result.output;
  EXPECT_FALSE(std::filesystem::exists(line_.folder() / "out"));
  EXPECT_TRUE(std::filesystem::is_empty(line_.folder() / "scratch")) << result.output;
}

TEST_F(Plan, RefusesWhatItCannotPlan) {
  for (const auto& [words, reason] : std::vector<std::pair<std::string, std::string>>{
           {"--deadline soon", "--deadline: expected a time with its unit"},
           {"--deadline 6", "--deadline: expected a time with its unit"},
           {"--budget 0", "--budget: expected dollars above 0"},
           {"--regions elsewhere", "plan: no offer is left: "},
           {"--set sync.algorithm=adsp", "no closed form for sync.algorithm adsp"},
           {"--set checkpoint.policy=young", "no closed form for checkpoint.policy young"}}) {
    const auto result = line_.tandem("plan job.yaml --offers offers.csv " + words + " --out out");
    EXPECT_EQ(result.exit_code, 2) << words << '\n' << result.output;
    EXPECT_THAT(result.output, HasSubstr(reason)) << words;
    EXPECT_FALSE(std::filesystem::exists(line_.folder() / "out")) << words;
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
