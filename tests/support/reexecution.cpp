#include "tests/support/reexecution.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "tests/support/server_log.hpp"

namespace tandem::testing {
namespace {

using Model = std::vector<double>;
/// Of a worker or shard.
using Index = std::size_t;

[[noreturn]] void fail(const std::string& reason) { throw std::runtime_error("re-execution: " + reason); }

/// softmax(W2 tanh(W1 x + b1) + b2) and its cross entropy.
class TanhNetwork {
 public:
  TanhNetwork(const ModelDescription& model, const Dataset& dataset)
      : dataset_(dataset),
        weight1_(tensor(model, "fc1.weight")),
        bias1_(tensor(model, "fc1.bias")),
        weight2_(tensor(model, "fc2.weight")),
        bias2_(tensor(model, "fc2.bias")) {}

  /// Adds `share` times the gradient of the sample's loss; returns the loss.
  double add_gradient(const Model& at, SampleId id, double share, Model& gradient) const {
    const auto record = dataset_.record(Dataset::Part::train, id);
    const Model pixels = pixels_of(record);
    Model hidden = product(at, weight1_, bias1_, pixels);
    for (double& value : hidden) value = std::tanh(value);
    Model outputs = product(at, weight2_, bias2_, hidden);
    const double total = std::accumulate(outputs.begin(), outputs.end(), 0.0,
                                         [](double sum, double output) { return sum + std::exp(output); });
    const auto label = static_cast<std::size_t>(dataset_.info().label_of(record));
    const double loss = std::log(total) - outputs.at(label);
    // The derivatives by the outputs, and then by the inputs of tanh.
    for (double& output : outputs) output = share * std::exp(output) / total;
    outputs[label] -= share;
    Model back(hidden.size(), 0.0);
    for (std::size_t row = 0; row < outputs.size(); ++row)
      for (std::size_t i = 0; i < hidden.size(); ++i)
        back[i] += outputs[row] * at[weight2_.offset + row * hidden.size() + i];
    for (std::size_t i = 0; i < hidden.size(); ++i) back[i] *= 1.0 - hidden[i] * hidden[i];
    add_outer(outputs, hidden, weight2_, bias2_, gradient);
    add_outer(back, pixels, weight1_, bias1_, gradient);
    return loss;
  }

 private:
  struct Tensor {
    std::size_t offset;
    std::size_t rows;
  };
  static Tensor tensor(const ModelDescription& model, const std::string& name) {
    const auto found = std::ranges::find(model.tensors, name, &TensorDescription::name);
    if (found == model.tensors.end()) fail("no tensor " + name);
    return {static_cast<std::size_t>(found->offset), static_cast<std::size_t>(found->shape.front())};
  }
  Model pixels_of(std::span<const std::byte> record) const {
    const DatasetInfo& info = dataset_.info();
    Model pixels;
    visit_pixels(info, record, [&](std::uint32_t value) {
      pixels.push_back((value / 255.0 - double{info.mean}) / double{info.deviation});
    });
    return pixels;
  }
  static Model product(const Model& at, const Tensor& weight, const Tensor& bias, const Model& inputs) {
    Model outputs;
    for (std::size_t row = 0; row < weight.rows; ++row)
      outputs.push_back(
          std::inner_product(inputs.begin(), inputs.end(),
                             at.begin() + static_cast<std::ptrdiff_t>(weight.offset + row * inputs.size()),
                             at[bias.offset + row]));
    return outputs;
  }
  static void add_outer(const Model& outputs, const Model& inputs, const Tensor& weight, const Tensor& bias,
                        Model& gradient) {
    for (std::size_t row = 0; row < weight.rows; ++row) {
      gradient[bias.offset + row] += outputs[row];
      double* const line = gradient.data() + weight.offset + row * inputs.size();
      for (std::size_t i = 0; i < inputs.size(); ++i) line[i] += outputs[row] * inputs[i];
    }
  }

  const Dataset& dataset_;
  Tensor weight1_, bias1_, weight2_, bias2_;
};

/// The batch of a step, with the recorded losses.
struct Step {
  std::vector<LossRecord> samples;
};

/// An exchange of which the worker waits for the end.
struct Exchanging {
  std::string payload;
  std::vector<Index> members;
  double weight = 1.0;
  bool overlaps = false;  ///< with the step, which the worker then takes from the mean
};

struct Worker {
  Index index;
  std::vector<Step> steps;
  std::vector<std::string> decisions;  ///< of its policy, without those that do nothing here
  std::size_t steps_taken = 0;
  std::size_t decisions_taken = 0;
  Model x;          ///< its model
  Model received;   ///< the shared model, as it was at the end of its last exchange
  Model gradient;   ///< of its last step
  Model velocity;   ///< of its own steps
  Model payload;    ///< of the exchange
  int samples = 0;  ///< of the exchange
  std::optional<Exchanging> exchange = {};
  std::size_t exchanges = 0;  ///< that have ended
  std::size_t replies = 0;    ///< in this exchange: shards that have answered
  // Where workers average their models:
  std::vector<Model> begun = {};  ///< its model as each exchange began
  /// In pairs: by exchange, the workers that have started one with this worker meanwhile, in their order. One
  /// more exchange follows after its last step.
  std::vector<std::vector<Index>> calls = {};
  std::size_t calls_answered = 0;    ///< in this exchange
  std::optional<Model> answer = {};  ///< to this worker's own call
};

struct Shard {
  struct Accepted {
    Index worker;
    double factor;
  };
  ShardPieces pieces;
  std::vector<ServerLogLine> log = {};
  std::size_t lines = 0;            ///< that were carried out
  std::vector<std::size_t> pushes;  ///< by worker: that have arrived
  std::vector<int> versions;        ///< by worker: of the model that it has
  int version = 0;
  double weight = 0.0;                  ///< of the accepted pushes
  std::vector<Accepted> accepted = {};  ///< since the last update
};

Index index_in(const std::vector<Rank>& ranks, Rank rank) {
  const auto found = std::ranges::find(ranks, rank);
  if (found == ranks.end()) fail("rank " + std::to_string(rank) + " is no worker");
  return static_cast<Index>(found - ranks.begin());
}

// ---- From the records ----

std::vector<Step> steps_of(const Journal& journal, Rank rank) {
  std::vector<LossRecord> losses;
  std::ranges::copy_if(journal.losses, std::back_inserter(losses),
                       [rank](const LossRecord& row) { return row.rank == rank; });
  std::vector<Step> steps;
  auto next = losses.begin();
  for (const StepRecord& step : journal.steps) {
    if (step.rank != rank) continue;
    if (losses.end() - next < step.samples) fail("fewer losses than samples");
    steps.push_back({{next, next + step.samples}});
    next += step.samples;
  }
  if (next != losses.end()) fail("more losses than samples");
  return steps;
}

std::vector<std::string> decisions_of_worker(const Journal& journal, Rank rank) {
  std::vector<std::string> decisions;
  for (const DecisionRecord& record : journal.decisions)
    if (record.rank == rank && record.side == "worker" && !record.decisions.empty() &&
        record.decisions != "ask")
      decisions.push_back(record.decisions.ends_with("; pass")
                              ? "pass"
                              : record.decisions.substr(0, record.decisions.find(';')));
  return decisions;
}

bool exchanges_in_pairs(const Journal& journal) {
  return std::ranges::any_of(journal.operations,
                             [](const OperationRecord& record) { return record.channel == "calls"; });
}

/// Operations are recorded in the order in which they started. The update of a step follows its exchange.
std::vector<std::vector<Index>> calls_of(const FinishedJob& job, Rank rank) {
  std::vector<std::vector<Index>> calls(1);
  for (const OperationRecord& record : job.journal.operations) {
    if (record.rank != rank) continue;
    if (record.kind == "send" && record.channel == "models")
      calls.back().push_back(index_in(job.workers, record.peer));
    if (record.kind == "compute" && record.work == "update") calls.emplace_back();
  }
  return calls;
}

/// "exchange model members=0,2 weight=3".
std::optional<Exchanging> exchange_in(const std::string& decision, std::size_t workers) {
  const Words words = words_of(decision);
  if (words.front() != "exchange") return std::nullopt;
  Exchanging exchange{.payload = words.at(1), .members = {}};
  for (const std::string& word : Words(words.begin() + 2, words.end())) {
    const auto [name, value] = name_and_value(word);
    if (name == "weight") exchange.weight = std::stod(value);
    if (name != "members") continue;
    std::istringstream members(value);
    for (std::string member; std::getline(members, member, ',');)
      exchange.members.push_back(std::stoul(member));
  }
  if (exchange.members.empty()) {
    exchange.members.resize(workers);
    std::iota(exchange.members.begin(), exchange.members.end(), Index{0});
  }
  return exchange;
}

class Reexecution {
 public:
  Reexecution(const FinishedJob& job, const Rule& rule, const PlantedFault& fault)
      : job_(job),
        rule_(rule),
        fault_(fault),
        network_(job.model, *job.dataset),
        shared_(job.first.begin(), job.first.end()),
        previous_(shared_),
        kept_(shared_.size(), 0.0),
        sum_(kept_) {
    const bool in_pairs = exchanges_in_pairs(job.journal);
    for (const Rank rank : job.workers) {
      workers_.push_back({.index = workers_.size(),
                          .steps = steps_of(job.journal, rank),
                          .decisions = decisions_of_worker(job.journal, rank),
                          .x = shared_,
                          .received = shared_,
                          .gradient = kept_,
                          .velocity = kept_,
                          .payload = kept_});
      if (in_pairs) workers_.back().calls = calls_of(job, rank);
    }
    const std::size_t count = workers_.size();
    if (job.servers.empty()) {
      ShardPiece all;
      all.elements = job.model.elements();
      shards_.push_back({.pieces = {all},
                         .pushes = std::vector<std::size_t>(count, 0),
                         .versions = std::vector<int>(count, 0)});
    }
    for (std::size_t shard = 0; shard < job.servers.size(); ++shard) {
      shards_.push_back({.pieces = job.shards.at(shard),
                         .pushes = std::vector<std::size_t>(count, 0),
                         .versions = std::vector<int>(count, 0)});
      for (const DecisionRecord& record : job.journal.decisions)
        if (record.rank == job.servers[shard] && record.side == "server")
          shards_.back().log.push_back({record.event, record.decisions});
    }
  }

  /// Each part goes as far as it can without the others, until none can.
  Reexecuted run() {
    for (bool moves = true; moves;) {
      moves = false;
      for (Worker& worker : workers_) moves = advance(worker) || moves;
      for (Shard& shard : shards_) moves = serve(shard) || moves;
      moves = exchange_without_server() || moves;
    }
    for (const Worker& worker : workers_)
      if (worker.exchange || worker.steps_taken != worker.steps.size() ||
          worker.decisions_taken != worker.decisions.size())
        fail("worker " + std::to_string(worker.index) + " waits after step " +
             std::to_string(worker.steps_taken) + " of " + std::to_string(worker.steps.size()));
    for (const Shard& shard : shards_)
      if (shard.lines != shard.log.size()) fail("not possible: " + shard.log[shard.lines].event);
    result_.model = averages_models() ? mean_model() : shared_;
    return result_;
  }

 private:
  bool averages_models() const { return !rule_.update && rule_.pull == 0.0; }

  double factor_of_contribution() { return contributions_++ == fault_.contribution ? fault_.factor : 1.0; }

  template <class Visit>
  static void visit_elements(const Shard& shard, const Visit& visit) {
    for (const ShardPiece& piece : shard.pieces)
      for (std::int64_t i = 0; i < piece.elements; ++i)
        visit(static_cast<std::size_t>(piece.flat_offset + i));
  }

  Model mean_model() const {
    Model mean(shared_.size(), 0.0);
    for (const Worker& worker : workers_) add(mean, worker.x, 1.0 / static_cast<double>(workers_.size()));
    return mean;
  }
  static void add(Model& sum, const Model& model, double factor) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += factor * model[i];
  }

  // ---- Workers ----

  /// Takes steps until the worker waits for others, or has ended.
  bool advance(Worker& worker) {
    bool moves = false;
    for (; !worker.exchange; moves = true) {
      if (passes_round(worker))
        pass_round(worker);
      else if (worker.steps_taken < worker.steps.size())
        take_step(worker);
      else
        break;
    }
    // Others may start exchanges with it until they have ended, too.
    if (worker.exchange || worker.exchanges + 1 != worker.calls.size()) return moves;
    worker.exchange = Exchanging{.payload = "model", .members = {worker.index}};
    worker.begun.push_back(worker.x);
    return true;
  }

  static bool passes_round(const Worker& worker) {
    return worker.decisions_taken < worker.decisions.size() &&
           worker.decisions[worker.decisions_taken] == "pass";
  }
  /// It takes no step, and waits for the result.
  static void pass_round(Worker& worker) {
    ++worker.decisions_taken;
    worker.exchange = Exchanging{.payload = "change", .members = {}, .weight = 0.0};
  }

  void take_step(Worker& worker) {
    const Step& step = worker.steps[worker.steps_taken++];
    std::ranges::fill(worker.gradient, 0.0);
    for (const LossRecord& sample : step.samples) {
      const double share = 1.0 / static_cast<double>(step.samples.size());
      const double loss = network_.add_gradient(worker.x, sample.id, share, worker.gradient);
      result_.loss_error = std::max(result_.loss_error, std::abs(loss - sample.loss));
    }
    ++result_.gradients;
    worker.samples += static_cast<int>(step.samples.size());
    if (begins_exchange(worker, true)) return;
    descend(worker);
    begins_exchange(worker, false);
  }

  /// As the next decision of its policy says.
  bool begins_exchange(Worker& worker, bool overlaps) {
    worker.exchange = exchange_in(worker.decisions.at(worker.decisions_taken++), workers_.size());
    if (!worker.exchange) return false;
    worker.exchange->overlaps = overlaps;
    if (worker.exchange->payload == "model") worker.begun.push_back(worker.x);
    if (worker.exchange->payload == "gradient") worker.payload = worker.gradient;
    if (worker.exchange->payload == "change") {
      worker.payload = worker.x;
      add(worker.payload, worker.received, -1.0);
    }
    return true;
  }

  void descend(Worker& worker) {
    const double factor = averages_models() ? factor_of_contribution() : 1.0;
    for (std::size_t i = 0; i < worker.x.size(); ++i) {
      worker.velocity[i] = rule_.momentum * worker.velocity[i] + factor * worker.gradient[i];
      worker.x[i] -= rule_.rate * worker.velocity[i];
    }
  }

  static void end_exchange(Worker& worker) {
    worker.exchange.reset();
    ++worker.exchanges;
    worker.samples = 0;
  }

  // ---- Servers ----

  /// Carries decisions out until the push of the next event has not been made.
  bool serve(Shard& shard) {
    bool moves = false;
    for (; shard.lines < shard.log.size(); ++shard.lines, moves = true) {
      const ServerLogLine& line = shard.log[shard.lines];
      const sync::ServerEvent event = sync::parse_server_event(line.event);
      const auto* push = std::get_if<sync::Push>(&event);
      if (push != nullptr && !takes_push(shard, *push)) return moves;
      for (const Words& decision : decisions_of(line)) carry_out(shard, decision);
    }
    return moves;
  }

  bool takes_push(Shard& shard, const sync::Push& push) const {
    const Worker& worker = workers_.at(static_cast<Index>(push.worker));
    if (!worker.exchange || shard.pushes[worker.index] != worker.exchanges) return false;
    ++shard.pushes[worker.index];
    if (push.version != shard.versions[worker.index] || push.samples != worker.samples)
      fail("the worker has version " + std::to_string(shard.versions[worker.index]) + " and " +
           std::to_string(worker.samples) + " samples, but: " + sync::to_text(push));
    return true;
  }

  void carry_out(Shard& shard, const Words& decision) {
    const std::string& kind = decision.at(0);
    if (kind == "apply") return update(shard, std::stod(decision.at(1)));
    if (kind == "cancel") return;
    const Index worker = std::stoul(decision.at(1));
    if (kind == "accept") return accept(shard, worker, std::stod(decision.at(2)));
    if (kind == "reply") return reply(shard, worker, decision.back() == "cached");
    if (kind != "discard" && kind != "answer") fail("not a decision: " + joined(decision));
  }

  void accept(Shard& shard, Index from, double weight) {
    const double factor = factor_of_contribution();
    const Worker& worker = workers_.at(from);
    const Model& payload = worker.payload;
    if (rule_.weight) weight = rule_.weight(worker.samples);
    visit_elements(shard, [&](std::size_t i) { sum_[i] += weight * factor * payload[i]; });
    shard.weight += weight;
    shard.accepted.push_back({from, factor});
  }

  void update(Shard& shard, double scale) {
    if (shard.accepted.empty()) fail("an update without a push");
    const Worker& last = workers_[shard.accepted.back().worker];
    visit_elements(shard, [&](std::size_t i) {
      const double before = shared_[i];
      if (rule_.pull > 0.0) {
        for (const auto& [index, factor] : shard.accepted) {
          const double moved = factor * rule_.pull * (workers_[index].x[i] - before);
          workers_[index].x[i] -= moved;
          shared_[i] += moved;
        }
      } else {
        Element element{.x = shared_[i],
                        .v = kept_[i],
                        .mean = sum_[i] / shard.weight,
                        .scale = scale,
                        .sent = last.received[i],
                        .previous = previous_[i]};
        rule_.update(element);
      }
      previous_[i] = before;
      sum_[i] = 0.0;
    });
    shard.weight = 0.0;
    shard.accepted.clear();
    ++shard.version;
  }

  /// `keeps`: the worker continues with its own model.
  void reply(Shard& shard, Index to, bool keeps = false) {
    Worker& worker = workers_.at(to);
    if (!keeps) shard.versions[to] = shard.version;
    visit_elements(shard, [&](std::size_t i) { worker.received[i] = keeps ? worker.x[i] : shared_[i]; });
    if (++worker.replies < shards_.size()) return;
    worker.replies = 0;
    if (rule_.pull == 0.0) worker.x = worker.received;
    end_exchange(worker);
  }

  // ---- Without servers ----

  bool exchange_without_server() {
    if (job_.over == sync::Route::server) return false;
    if (averages_models()) {
      bool moves = false;
      for (Worker& worker : workers_)
        moves = (worker.calls.empty() ? average(worker) : average_in_pair(worker)) || moves;
      return moves;
    }
    if (!std::ranges::all_of(workers_, [](const Worker& worker) { return worker.exchange.has_value(); }))
      return false;
    Shard& all = shards_.front();
    for (const Worker& worker : workers_)
      if (worker.exchange->weight > 0.0)
        accept(all, worker.index,
               worker.exchange->payload == "gradient" ? worker.samples : worker.exchange->weight);
    update(all, 1.0);
    for (Index to = 0; to < workers_.size(); ++to) reply(all, to);
    return true;
  }

  /// The mean of the members' models, as they were at the beginning of the exchange with this number.
  bool average(Worker& worker) {
    if (!worker.exchange) return false;
    const std::vector<Index>& members = worker.exchange->members;
    const auto has_begun = [&](Index member) { return workers_[member].begun.size() > worker.exchanges; };
    if (!std::ranges::all_of(members, has_begun)) return false;
    std::ranges::fill(worker.x, 0.0);
    for (const Index member : members)
      add(worker.x, workers_[member].begun[worker.exchanges], 1.0 / static_cast<double>(members.size()));
    end_average(worker);
    return true;
  }

  /// A worker answers each call with its model, and averages its model with the caller's. The caller takes
  /// the mean of the answer and its own model.
  bool average_in_pair(Worker& worker) {
    if (!worker.exchange) return false;
    if (worker.exchange->members.size() == 2) {
      if (!worker.answer) return false;
      worker.x = mean_of(worker.begun.back(), *worker.answer);
      worker.answer.reset();
      end_average(worker);
      return true;
    }
    const std::vector<Index>& calls = worker.calls.at(worker.exchanges);
    bool moves = false;
    for (; worker.calls_answered < calls.size(); ++worker.calls_answered, moves = true) {
      Worker& caller = workers_[calls[worker.calls_answered]];
      const bool has_called = caller.exchange && !caller.answer && caller.exchange->members.size() == 2 &&
                              std::ranges::count(caller.exchange->members, worker.index) == 1;
      if (!has_called) return moves;
      caller.answer = worker.x;
      worker.x = mean_of(worker.x, caller.begun.back());
    }
    worker.calls_answered = 0;
    end_average(worker);
    return true;
  }
  static Model mean_of(const Model& one, const Model& other) {
    Model mean(one.size(), 0.0);
    add(mean, one, 0.5);
    add(mean, other, 0.5);
    return mean;
  }

  void end_average(Worker& worker) {
    if (worker.exchange->overlaps) descend(worker);
    end_exchange(worker);
  }

  const FinishedJob& job_;
  const Rule& rule_;
  PlantedFault fault_;
  TanhNetwork network_;
  std::vector<Worker> workers_;
  std::vector<Shard> shards_;
  Model shared_;    ///< by servers, or by workers that sum
  Model previous_;  ///< before the last update
  Model kept_;      ///< Element::v
  Model sum_;       ///< weighted, of what is accepted
  int contributions_ = 0;
  Reexecuted result_;
};

double norm_of(std::span<const double> values) {
  return std::sqrt(std::inner_product(values.begin(), values.end(), values.begin(), 0.0));
}

double distance_between(std::span<const float> one, std::span<const double> other) {
  Model difference;
  for (std::size_t i = 0; i < other.size(); ++i) difference.push_back(double{one[i]} - other[i]);
  return norm_of(difference);
}

double way_of(const FinishedJob& job) {
  return distance_between(job.last, Model(job.first.begin(), job.first.end()));
}

}  // namespace

Reexecuted reexecute(const FinishedJob& job, const Rule& rule, const PlantedFault& fault) {
  return Reexecution(job, rule, fault).run();
}

double relative_error(const FinishedJob& job, std::span<const double> found) {
  return distance_between(job.last, found) / way_of(job);
}

double rounding_error(const FinishedJob& job, int gradients) {
  // A float is off by at most 2^-24 of its value, and the errors of n roundings add up like sqrt(n)
  // independent ones. The model is rounded after each step; a gradient is a sum over the pixels of an image.
  // Simulated jobs of all algorithms had 0.1 to 0.54 of this.
  constexpr double unit = 1.0 / (1 << 24);
  const double stored = std::sqrt(gradients) * norm_of(Model(job.last.begin(), job.last.end()));
  const double summed = std::sqrt(static_cast<double>(job.dataset->info().pixels()));
  return unit * (stored / way_of(job) + summed);
}

}  // namespace tandem::testing
