#include "cli/commands/plan_start.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/jobs/run_launch.hpp"
#include "cli/machines/run_sbatch.hpp"
#include "cli/shared/output.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/experiment/yaml.hpp"
#include "workloads/planning/rented_machines.hpp"

namespace tandem::cli {
namespace {

using planning::Configuration;
using planning::Lattice;

using Texts = std::vector<std::string>;

/// Of providers whose names differ, and where Kubernetes says that a node is a spot machine.
struct Cloud {
  std::string_view provider, of_skypilot;
  std::string_view spot_label{}, spot_value{};
};
constexpr std::array<Cloud, 6> clouds = {{{"aws", "aws", "eks.amazonaws.com/capacityType", "SPOT"},
                                          {"azure", "azure", "kubernetes.azure.com/scalesetpriority", "spot"},
                                          {"gcp", "gcp", "cloud.google.com/gke-spot", "true"},
                                          {"lambda", "lambda"},
                                          {"runpod", "runpod"},
                                          {"digitalocean", "do"}}};

const Cloud* cloud_of(const platforms::Offer& offer) {
  const auto found = std::ranges::find(clouds, offer.provider, &Cloud::provider);
  return found == clouds.end() ? nullptr : &*found;
}

/// As SkyPilot names the GPUs of a machine: without the board, and without the usual memory of a kind.
std::string accelerator_of(const platforms::Offer& offer) {
  // Instances of RunPod are called "8x_H100-SXM_SECURE", by these names.
  const auto begin = offer.instance.find("x_"), end = offer.instance.rfind('_');
  if (offer.provider == "runpod" && begin != std::string::npos && end > begin + 1)
    return offer.instance.substr(begin + 2, end - begin - 2);
  std::string name = offer.device;
  for (const std::string_view board : {"-sxm", "-pcie", "-nvl", "-16gb", "-40gb"})
    if (const auto at = name.find(board); at != std::string::npos) name.erase(at, board.size());
  for (char& letter : name) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return name == "RTX-3090" ? "RTX3090" : name;
}

/// For names of jobs, which are small letters, digits and "-".
std::string plain_name(const std::string& name) {
  std::string plain = "tandem-";
  for (const char letter : name)
    plain += std::isalnum(static_cast<unsigned char>(letter)) != 0
                 ? static_cast<char>(std::tolower(static_cast<unsigned char>(letter)))
                 : '-';
  constexpr std::size_t most = 50;  // names of pods have more
  plain = plain.substr(0, most);
  return plain.substr(0, plain.find_last_not_of('-') + 1);
}

/// A text in YAML, between quotation marks.
std::string yaml_string(const std::string& text) { return nlohmann::json(text).dump(); }

std::string indented(const std::string& text, int columns) {
  std::string result;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find('\n', begin), text.size());
    if (end > begin) result += std::string(static_cast<std::size_t>(columns), ' ');
    result += text.substr(begin, end - begin) + '\n';
    begin = end + 1;
  }
  return result;
}

/// The choice as a job on real machines.
struct Start {
  const Configuration& of;
  const platforms::Offer& offer;
  std::string name, image, folder;  ///< of the plan, absolute
  Texts settings;
  Job job;
  Texts remarks;  ///< comments of the file
};

/// Real machines depart by themselves.
Texts settings_of(const platforms::Offer& offer) {
  return offer.is_spot ? Texts{"transience.lifetime=never", "transience.options={}"} : Texts{};
}

Job job_of(const std::string& file, const Texts& settings, const std::string& out) {
  JobOptions options;
  options.experiment_file = file;
  options.settings = settings;
  LoadedJob loaded = load_job(options);
  compute_natively_by_default(loaded);
  return make_job(loaded, out);
}

Texts remarks_of(const Lattice& lattice, const PlanResult& result, const platforms::Offer& offer,
                 const Job& job) {
  const auto rows = plan_rows(lattice, result, 1);
  const auto& best = rows[1];
  Texts remarks = {
      fmt::format("Written by tandem plan: {}, {}: {} h, ${} (5 to 95 %), without waiting for machines",
                  best[1], best[2], best[4], best[5])};
  if (!job.real_math())
    remarks.emplace_back(
        "workload.math is modelled: devices are emulated, and nothing is learnt (workload.math: real "
        "trains)");
  else
    remarks.push_back("The data set of the experiment (" + job.spec().experiment.workload.dataset +
                      ") has to be on every machine");
  if (offer.is_spot)
    remarks.emplace_back(
        "A machine that is taken away ends the job. When it is started again, it resumes from its newest "
        "checkpoint (evaluate_every, checkpoint.policy), where `out` is still there");
  return remarks;
}

/// Each rented machine is a node, and so is each other one; or those are on the first node.
Texts mapping_of(const Start& start, bool with_others_on_first) {
  const planning::RentedMachines rented{&start.offer, start.of.machines, {}};
  const auto hosts = rented.hosts();
  const auto machine_of = [&](std::size_t number) {
    return fmt::format("machine-{}", number / static_cast<std::size_t>(start.offer.count) + 1);
  };
  std::vector<machines::Mapped> all;
  for (const RankAssignment& rank : start.job.roster().assignments()) {
    if (std::ranges::find(all, rank.host, &machines::Mapped::host) != all.end()) continue;
    const auto number = static_cast<std::size_t>(std::ranges::find(hosts, rank.host) - hosts.begin());
    if (number == hosts.size())
      all.push_back({rank.host, with_others_on_first ? machine_of(0) : rank.host});
    else
      all.push_back({rank.host, machine_of(number),
                     static_cast<int>(number % static_cast<std::size_t>(start.offer.count))});
  }
  Texts entries;
  for (const auto& entry : machines::mapping_entries(all))
    entries.push_back(entry.hosts + "=" + entry.machines);
  return entries;
}

std::vector<ScriptNode> nodes_with_others(Start& start) {
  auto nodes = nodes_of(start.job, mapping_of(start, true), {});
  std::string others;
  for (const auto& host : nodes.front().hosts)
    if (!host.gpu) others += (others.empty() ? "" : ", ") + host.host;
  if (!others.empty())
    start.remarks.push_back("The plan has machines of their own for " + others +
                            "; here their ranks are on the first machine, and share its link");
  return nodes;
}

/// For bash: `nodes` is known, and the folder has the files of the plan.
std::string run_lines(const Start& start, const std::vector<ScriptNode>& nodes, const std::string& hosts,
                      const std::string& folder) {
  std::string words = "run " + folder + "experiment.yaml";
  for (const auto& setting : start.settings) words += " --set " + shell_word(setting);
  const bool commits = may_commit_on_request(start.job);
  return fmt::format(
             "machines=({}{})\n"
             "restart=0\n"
             "while [ -e \"$out$([ $restart = 0 ] || echo .$restart)\" ]; do restart=$((restart + 1)); "
             "done\n",
             hosts, map_lines(nodes)) +
         resuming_run("tandem", words, commits ? " --grace 30" : "");
}

std::string comments(const Start& start, const std::string& command) {
  std::string text = "# " + command + '\n';
  for (const auto& remark : start.remarks) text += "# " + remark + '\n';
  return text;
}

std::string skypilot_task(Start start) {
  const auto nodes = nodes_with_others(start);
  const Cloud* cloud = cloud_of(start.offer);
  std::string where;
  if (cloud != nullptr) {
    where = fmt::format("  cloud: {}\n  region: {}\n", cloud->of_skypilot, yaml_string(start.offer.region));
    // AWS's prices are by the identifier of a zone, whose name differs between accounts.
    if (start.offer.zone.starts_with(start.offer.region) && !start.offer.region.empty())
      where += fmt::format("  zone: {}\n", yaml_string(start.offer.zone));
    where += fmt::format("  instance_type: {}\n", yaml_string(start.offer.instance));
  } else {
    start.remarks.push_back("The provider '" + start.offer.provider +
                            "' is none that SkyPilot is known to have: it chooses machines with these GPUs");
  }
  const std::string run =
      "set -eu\n"
      "[ \"$SKYPILOT_NODE_RANK\" = 0 ] || exit 0  # the first node starts the ranks of all\n"
      "nodes=($SKYPILOT_NODE_IPS)\n"
      "out=$HOME/results\n" +
      run_lines(start, nodes, "--hosts \"$(IFS=,; echo \"${nodes[*]}\")\"", "");
  return comments(start, "A task of SkyPilot: sky launch FILE; sky jobs launch FILE starts it again") +
         fmt::format(
             "name: {}\n"
             "num_nodes: {}\n"
             "workdir: {}\n"
             "resources:\n"
             "{}"
             "  accelerators: {}\n"
             "  use_spot: {}\n"
             "  image_id: {}\n"
             "setup: |\n"
             "  tandem --version\n"
             "run: |\n"
             "{}",
             start.name, nodes.size(), yaml_string(start.folder), where,
             yaml_string(fmt::format("{}:{}", accelerator_of(start.offer), start.offer.count)),
             start.offer.is_spot, yaml_string("docker:" + start.image), indented(run, 2));
}

/// Labels that Kubernetes gives the nodes of the offer.
std::string node_labels(const platforms::Offer& offer) {
  const Cloud* cloud = cloud_of(offer);
  if (cloud == nullptr || cloud->spot_label.empty()) return "";
  std::string text = fmt::format(
      "          nodeSelector:\n"
      "            node.kubernetes.io/instance-type: {}\n"
      "            topology.kubernetes.io/region: {}\n",
      yaml_string(offer.instance), yaml_string(offer.region));
  if (offer.is_spot)
    text += fmt::format(
        "            {0}: {1}\n"
        "          tolerations:\n"
        "            - {{key: {0}, operator: Exists, effect: NoSchedule}}\n",
        cloud->spot_label, yaml_string(std::string(cloud->spot_value)));
  return text;
}

/// The files of the plan, as Kubernetes keeps them.
std::string config_map(const Start& start, const Lattice& lattice) {
  return fmt::format(
      "apiVersion: v1\n"
      "kind: ConfigMap\n"
      "metadata:\n"
      "  name: {}\n"
      "data:\n"
      "  experiment.yaml: |\n"
      "{}"
      "  platform.xml: |\n"
      "{}"
      "---\n",
      start.name, indented(to_yaml(lattice.experiment_of(start.of, "platform.xml")), 4),
      indented(lattice.platform_of(start.of), 4));
}

std::string mpi_job(Start start, const Lattice& lattice) {
  const auto nodes = nodes_with_others(start);
  const int slots = std::ranges::max(nodes, {}, &ScriptNode::ranks).ranks;
  start.remarks.emplace_back("The claim `tandem` gets the results");
  const std::string labels = node_labels(start.offer);
  if (labels.empty())
    start.remarks.push_back("Nodes are chosen by their GPUs alone: the labels of those of '" +
                            start.offer.provider + "' are not known");
  const std::string run =
      "set -eu\n"
      "nodes=($(cut -d' ' -f1 /etc/mpi/hostfile))\n"
      "out=/data/" +
      start.name + '\n' + run_lines(start, nodes, "--hostfile /etc/mpi/hostfile", "/plan/");
  return comments(start, "A job of Kubeflow's MPI operator: kubectl apply -f FILE") +
         config_map(start, lattice) +
         fmt::format(
             "apiVersion: kubeflow.org/v2beta1\n"
             "kind: MPIJob\n"
             "metadata:\n"
             "  name: {0}\n"
             "spec:\n"
             "  slotsPerWorker: {1}\n"
             "  sshAuthMountPath: /root/.ssh\n"
             "  mpiImplementation: OpenMPI\n"
             "  runPolicy:\n"
             "    cleanPodPolicy: Running\n"
             "  mpiReplicaSpecs:\n"
             "    Launcher:\n"
             "      replicas: 1\n"
             "      restartPolicy: OnFailure\n"
             "      template:\n"
             "        spec:\n"
             "          containers:\n"
             "            - name: launcher\n"
             "              image: {2}\n"
             "              command: [bash, -c]\n"
             "              args:\n"
             "                - |\n"
             "{3}"
             "              env:\n"
             "                # Pods are new hosts each time, and the folder of the key cannot be written.\n"
             "                - name: OMPI_MCA_plm_rsh_agent\n"
             "                  value: ssh -o BatchMode=yes -o ConnectTimeout=10 -o StrictHostKeyChecking=no "
             "-o "
             "UserKnownHostsFile=/dev/null -o LogLevel=ERROR\n"
             "              volumeMounts:\n"
             "                - {{name: plan, mountPath: /plan}}\n"
             "                - {{name: data, mountPath: /data}}\n"
             "          volumes:\n"
             "            - name: plan\n"
             "              configMap: {{name: {0}}}\n"
             "            - name: data\n"
             "              persistentVolumeClaim: {{claimName: tandem}}\n"
             "    Worker:\n"
             "      replicas: {4}\n"
             "      template:\n"
             "        spec:\n"
             "          containers:\n"
             "            - name: worker\n"
             "              image: {2}\n"
             "              command: [sh, -c, \"mkdir -p /run/sshd && exec /usr/sbin/sshd -De\"]\n"
             "              resources:\n"
             "                limits:\n"
             "                  nvidia.com/gpu: {5}\n"
             "{6}",
             start.name, slots, yaml_string(start.image), indented(run, 18), nodes.size(), start.offer.count,
             labels);
}

/// "01:23:00", not less than a minute.
std::string slurm_time(double seconds) {
  const auto minutes = static_cast<long long>(std::max(1.0, std::ceil(seconds / 60.0)));
  return fmt::format("{:02}:{:02}:00", minutes / 60, minutes % 60);
}

std::string sbatch_script(const Start& start, SbatchOptions sbatch, const planning::Figures& figures,
                          const std::string& out) {
  if (sbatch.time.empty()) {
    if (!std::isfinite(figures.time_s.high))
      throw ConfigError("--print-sbatch: expected --time, because some lives of the job do not end");
    sbatch.time = slurm_time(2.0 * figures.time_s.high);
  }
  RunSbatchOptions options;
  options.sbatch = std::move(sbatch);
  options.remarks = start.remarks;
  if (may_commit_on_request(start.job)) options.grace_s = RunOptions().grace_s;
  MachineOptions machines;
  machines.mapping = mapping_of(start, false);
  JobOptions job;
  job.experiment_file = start.folder + "/experiment.yaml";
  job.settings = start.settings;
  return run_script(start.job, job, machines, options, out);
}

}  // namespace

void add_start_options(CLI::App& command, StartOptions& options) {
  constexpr const char* group = "Start it elsewhere";
  add_sbatch_options(command, options.sbatch,
                     "runs the choice on a node for each machine; other output goes to standard error", group,
                     "twice the 95th percentile of the plan");
  CLI::Option* const sbatch = command.get_option("--print-sbatch");
  CLI::Option* const skypilot =
      command.add_flag("--print-skypilot", options.is_skypilot, "The same as a task of SkyPilot")
          ->group(group)
          ->excludes(sbatch);
  command.add_flag("--print-mpijob", options.is_mpijob, "The same as an MPIJob of Kubeflow's MPI operator")
      ->group(group)
      ->excludes(sbatch)
      ->excludes(skypilot);
  command
      .add_option(
          "--image", options.image,
          "Of the task or MPIJob: container image with Tandem and openssh-server (runtime/containers)")
      ->capture_default_str()
      ->group(group)
      ->excludes(sbatch);
}

std::string start_text(const Lattice& lattice, const PlanResult& result, const StartOptions& options) {
  const Configuration& of = lattice.configurations()[result.lived.front().number];
  const std::string folder = std::filesystem::absolute(result.folder).lexically_normal().string();
  const std::string out = (folder.ends_with('/') ? folder.substr(0, folder.size() - 1) : folder) + "-run";
  const Texts settings = settings_of(*of.offer);
  Job job = job_of(folder + "/experiment.yaml", settings, out);
  Texts remarks = remarks_of(lattice, result, *of.offer, job);
  if (options.image == StartOptions().image && !options.sbatch.is_wanted) {
    const std::string image =
        "The image 'tandem' is the one that runtime/containers builds, with openssh-server; it computes on "
        "processors. Where machines have to pull an image, give its name with --image";
    remarks.push_back(image);
    print_note(image);
  }
  Start start{.of = of,
              .offer = *of.offer,
              .name = plain_name(result.name),
              .image = options.image,
              .folder = folder,
              .settings = settings,
              .job = std::move(job),
              .remarks = std::move(remarks)};
  if (options.sbatch.is_wanted)
    return sbatch_script(start, options.sbatch, result.lived.front().figures, out);
  return options.is_skypilot ? skypilot_task(std::move(start)) : mpi_job(std::move(start), lattice);
}

}  // namespace tandem::cli
