#include "workloads/roles/loader.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/job/placement/cache_clients.hpp"
#include "workloads/membership/joining_client.hpp"
#include "workloads/protocol.hpp"
#include "workloads/roles/cache/direct_reads.hpp"

namespace tandem {
namespace {

/// Every worker holds its samples.
class MemoryLoader : public Loader {
 public:
  MemoryLoader(const DataPlan& data, SampleVisits& visits)
      : dataset_(data.dataset()), visits_(visits), has_lists_(data.has_lists()) {}

  void begin_step(int) override {}
  bool has_next() override { return true; }
  bool may_have_next() const override { return true; }

  Batch next(int samples) override {
    // Modelled mathematics holds no samples, and needs no shard.
    if (dataset_ == nullptr && !has_lists_) {
      taken_ += samples;
      return {samples, {}};
    }
    visits_.next(samples, batch_);
    taken_ += std::ssize(batch_.ids);
    records_.clear();
    if (dataset_ != nullptr)
      for (const SampleId id : batch_.ids) {
        const auto record = dataset_->record(Dataset::Part::train, id);
        records_.insert(records_.end(), record.begin(), record.end());
      }
    return {static_cast<int>(batch_.ids.size()),
            records_,
            batch_.weights,
            batch_.ids,
            visits_.epoch(),
            batch_.epochs};
  }
  std::int64_t taken() const override { return taken_; }
  void join(int) override {}
  void close() override {}

 private:
  const Dataset* dataset_;  ///< null when math is modelled
  SampleVisits& visits_;
  bool has_lists_;
  SampleVisits::Batch batch_;
  std::vector<std::byte> records_;
  std::int64_t taken_ = 0;
};

/// Requests batches from a cache node in advance, but not those of an epoch whose list needs losses that are
/// not known yet.
class StorageLoader : public Loader {
 public:
  StorageLoader(const Roster& roster, const DataPlan& data, Context& context, SampleVisits& visits,
                int worker, const GivenSamples& given, std::function<Completion(Pending&)> wait,
                const DepartingNode& departing)
      : context_(context),
        wait_(std::move(wait)),
        visits_(visits),
        data_(data),
        manifest_(data.manifest()),
        given_(given),
        real_(data.dataset() != nullptr),
        ahead_(data.prefetch()),
        standing_(departing.standing) {
    const auto node = cache_node_of(roster, static_cast<std::size_t>(worker));
    node_ = roster.ranks_of(Roster::Role::cache_node)[node];
    is_first_ = clients_of(roster, node).front() == static_cast<std::size_t>(worker);
    sends_losses_ = is_first_ && data.plans_caches() && data.needs_losses();
    if (standing_ != nullptr) direct_.emplace(roster, data, context, given, wait_, *departing.journal);
  }

  ResidentSet residents() override {
    if (!is_first_) return {};
    ResidentSet held(manifest_.samples);
    const std::span<std::byte> bytes = held.bytes();
    Pending reply = protocol::receive<"batches">(
        context_, node_, {Bytes(static_cast<std::int64_t>(bytes.size())), bytes.data()});
    Pending asked = protocol::send<"requests">(context_, node_, protocol::Request{});
    wait_(asked);
    wait_(reply);
    return held;
  }

  void begin_step(int samples) override {
    ask_again();
    for (++begun_; requested_ < begun_ + ahead_ && !visits_.awaits_losses(); ++requested_) request(samples);
  }
  bool has_next() override {
    if (in_flight_.empty()) return false;
    ask_again();
    const Request& next = in_flight_.front();
    if (next.is_direct) return direct_->has(next.from_stores);
    return next.batch.empty() || context_.is_done(next.batch);
  }
  bool may_have_next() const override { return requested_ > 0; }

  Batch next(int) override {
    TANDEM_CHECK(!in_flight_.empty(), "steps", begun_, "ahead", ahead_);
    await(in_flight_.front());
    current_ = std::move(in_flight_.front());
    in_flight_.pop_front();
    const std::span<const std::byte> stored = delivered();
    list_.clear();
    if (real_ && given_.is_sent()) {
      const std::span<const std::byte> numbers(stored.data() + stored.size(),
                                               current_.samples.ids.size() * sizeof(SampleId));
      for (std::size_t i = 0; i < current_.samples.ids.size(); ++i)
        list_.push_back(GivenSamples::get(numbers, i));
    }
    return {static_cast<int>(current_.samples.ids.size()),
            stored,
            current_.samples.weights,
            current_.samples.ids,
            current_.epoch,
            current_.samples.epochs,
            list_};
  }

  std::int64_t taken() const override { return taken_; }

  /// The node reports when the operations with the slot's last worker have ended.
  void join(int incarnation) override {
    incarnation_ = incarnation;
    if (standing_ == nullptr) {
      constexpr int only_one = 1;
      join_server(context_, node_, incarnation, only_one, wait_, [] { return true; });
      return;
    }
    direct_->join(incarnation);
    is_served();
  }

  void note_exchange(bool begins) override {
    if (sends_phases()) notify(protocol::Exchanging{begins});
  }
  void close() override {
    for (Request& each : in_flight_) {
      if (each.is_direct) direct_->await(each.from_stores);
      for (Pending* open : {&each.request, &each.batch})
        if (!open->empty()) context_.wait(*open);
    }
    in_flight_.clear();
    if (!losses_sent_.empty()) context_.wait(losses_sent_);
    if (!given_sent_.empty()) context_.wait(given_sent_);
    if (sends_phases()) notify(protocol::End{});
    context_.wait_all(phases_);
    if (standing_ == nullptr || is_connected()) {
      Pending end = protocol::send<"requests">(context_, node_, protocol::End{});
      context_.wait(end);
    }
    if (direct_) direct_->close();
  }

 private:
  struct Request {
    SampleVisits::Batch samples;
    std::int64_t epoch = 0;
    std::vector<std::byte> records;
    Pending request;
    Pending batch;  ///< empty: it has arrived
    // Where the node may depart:
    int node = 0;            ///< incarnation that was asked
    bool is_direct = false;  ///< the stores were asked instead
    DirectReads::Batch from_stores = {};
  };

  void request(int samples) {
    Request& order = in_flight_.emplace_back();
    visits_.next(samples, order.samples);
    order.epoch = visits_.epoch();
    taken_ += std::ssize(order.samples.ids);
    if (sends_losses_) send_losses();
    if (requested_ == 0 && data_.cache_factory().needs.ahead) send_given();
    const Bytes size = most_bytes(order.samples.ids) + given_.size(order.samples.ids.size());
    if (real_) order.records.resize(static_cast<std::size_t>(size.count()));
    if (is_served())
      ask_node(order, size);
    else
      ask_stores(order);
  }
  void ask_node(Request& order, Bytes size) {
    const auto count = std::ssize(order.samples.ids);
    if (standing_ != nullptr) order.node = standing_->incarnation();
    order.batch =
        protocol::receive<"batches">(context_, node_, {size, real_ ? order.records.data() : nullptr});
    // Ids are sent with real and with modelled mathematics: the cache decides by them.
    order.request =
        protocol::send<"requests">(context_, node_,
                                   protocol::Request{.samples = static_cast<std::int32_t>(count),
                                                     .epoch = order.epoch,
                                                     .position = data_.has_lists() ? visits_.position() : 0},
                                   {Bytes(count * static_cast<std::int64_t>(sizeof(SampleId))),
                                    reinterpret_cast<std::byte*>(order.samples.ids.data())});
  }
  void ask_stores(Request& order) {
    order.is_direct = true;
    order.from_stores = {.ids = order.samples.ids, .epoch = order.epoch, .records = order.records};
    direct_->ask(order.from_stores);
  }

  bool is_connected() const { return !standing_->has_departed() && standing_->is_answered(); }
  bool sends_phases() const {
    return data_.reads_while_computing() && (standing_ == nullptr || is_connected());
  }
  /// Whether the node takes requests. If it has come back, joins it first.
  bool is_served() {
    if (standing_ == nullptr) return true;
    while (!standing_->has_departed() && !standing_->is_answered()) {
      standing_->await_ends(wait_);
      const int node = standing_->incarnation();
      const auto is_there = [&] { return standing_->incarnation() == node; };
      if (join_server(context_, node_, incarnation_, node, wait_, is_there)) standing_->note_answered(node);
    }
    return !standing_->has_departed();
  }
  /// Asks the stores for batches that the departed node will not send. Messages in flight arrive.
  void ask_again() {
    if (standing_ == nullptr) return;
    for (Request& order : in_flight_) {
      const bool was_asked = !order.is_direct && !order.batch.empty();
      if (!was_asked || order.node == standing_->incarnation() || !context_.is_done(order.batch)) continue;
      if (context_.wait(order.batch).outcome != Outcome::done) ask_stores(order);
    }
  }
  void await(Request& order) {
    const Seconds began = context_.now();
    if (!order.request.empty()) wait_(order.request);
    if (!order.batch.empty() && wait_(order.batch).outcome != Outcome::done) {
      ask_stores(order);
      ask_again();
    }
    if (!order.is_direct) return;
    direct_->await(order.from_stores);
    direct_->note(order.from_stores, context_.now() - began);
  }
  /// Largest size of the message with a batch, whichever samples it has.
  Bytes most_bytes(const std::vector<SampleId>& ids) const {
    const auto count = std::ssize(ids);
    if (data_.may_replace())
      return (Bytes(static_cast<std::int64_t>(sizeof(SampleId))) + data_.largest_sample()) * count;
    Bytes size{0};
    for (const SampleId id : ids) size += manifest_.size_of(id);
    return size;
  }
  /// The samples that came. If they may be others than the wanted ones, their ids come first.
  std::span<const std::byte> delivered() {
    const std::span<const std::byte> message = current_.records;
    if (!real_) return message;
    if (!data_.may_replace())
      return message.first(message.size() -
                           static_cast<std::size_t>(given_.size(current_.samples.ids.size()).count()));
    auto& samples = current_.samples;
    std::vector<SampleId> ids(samples.ids.size());
    std::memcpy(ids.data(), message.data(), ids.size() * sizeof(SampleId));
    visits_.replace(samples, ids);
    Bytes size{0};
    for (const SampleId id : ids) size += manifest_.size_of(id);
    return message.subspan(ids.size() * sizeof(SampleId), static_cast<std::size_t>(size.count()));
  }
  /// Sends the cache node which samples came, when a job is resumed in an epoch in which samples have
  /// changed places.
  void send_given() {
    const std::span<const SampleId> given = visits_.given_before(visits_.epoch(), visits_.position());
    if (given.empty()) return;
    given_ids_.assign(given.begin(), given.end());
    given_sent_ =
        protocol::send<"given">(context_, node_,
                                {Bytes(std::ssize(given_ids_) * static_cast<std::int64_t>(sizeof(SampleId))),
                                 reinterpret_cast<std::byte*>(given_ids_.data())});
  }
  /// Sends the cache node the losses, when an epoch begins whose list depends on them.
  void send_losses() {
    if (visits_.epoch() == losses_epoch_) return;
    losses_epoch_ = visits_.epoch();
    if (!losses_sent_.empty()) wait_(losses_sent_);
    const auto losses = std::as_bytes(visits_.losses());
    const std::span<const std::byte> held = visits_.residents().bytes();
    const auto of_losses = static_cast<std::size_t>(manifest_.samples) * sizeof(float);
    losses_.assign(losses.begin(), losses.end());
    // Which samples are in caches is sent with modelled mathematics, too.
    if (!held.empty()) losses_.resize(of_losses);
    losses_.insert(losses_.end(), held.begin(), held.end());
    const Bytes size(static_cast<std::int64_t>(of_losses + held.size()));
    losses_sent_ =
        protocol::send<"importance">(context_, node_, {size, losses_.empty() ? nullptr : losses_.data()});
  }

  /// Sends the cache node what the worker does now. Never blocks.
  void notify(const protocol::NoteOf<"phases">& note) {
    std::erase_if(phases_, [this](Pending& sent) {
      if (!context_.is_done(sent)) return false;
      context_.wait(sent);
      return true;
    });
    phases_.push_back(protocol::send<"phases">(context_, node_, note));
  }

  Context& context_;
  std::function<Completion(Pending&)> wait_;
  SampleVisits& visits_;
  const DataPlan& data_;
  const cache::Manifest& manifest_;
  GivenSamples given_;
  bool real_;
  std::int64_t ahead_;          ///< batches
  std::int64_t begun_ = 0;      ///< steps
  std::int64_t requested_ = 0;  ///< batches
  std::int64_t taken_ = 0;      ///< samples of these
  Rank node_ = 0;
  bool is_first_ = false;  ///< of the workers of its cache node
  bool sends_losses_ = false;
  std::int64_t losses_epoch_ = 0;  ///< nothing is known before the first epoch
  std::vector<std::byte> losses_;
  Pending losses_sent_;
  std::vector<SampleId> given_ids_;
  Pending given_sent_;
  std::vector<Pending> phases_;  ///< messages in flight
  std::deque<Request> in_flight_;
  Request current_;
  std::vector<SampleId> list_;   ///< the samples of the current batch
  CacheNodeStanding* standing_;  ///< null: the node stays
  int incarnation_ = 1;          ///< of this worker in its slot
  std::optional<DirectReads> direct_;
};

}  // namespace

std::unique_ptr<Loader> make_loader(const Roster& roster, const DataPlan& data, Context& context,
                                    SampleVisits& visits, int worker, const GivenSamples& given,
                                    std::function<Completion(Pending&)> wait, const DepartingNode& node) {
  if (data.from_storage())
    return std::make_unique<StorageLoader>(roster, data, context, visits, worker, given, std::move(wait),
                                           node);
  return std::make_unique<MemoryLoader>(data, visits);
}

}  // namespace tandem
