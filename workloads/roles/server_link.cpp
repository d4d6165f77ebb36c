// Push and pull: payload buckets to every shard, the new model back.
#include <optional>

#include "policies/vocabulary/check.hpp"
#include "workloads/roles/compressed_push.hpp"
#include "workloads/roles/coordinator_line.hpp"
#include "workloads/roles/link.hpp"
#include "workloads/roles/protocol.hpp"
#include "workloads/roles/shard_layout.hpp"

namespace tandem {
namespace {

class ServerLink : public Link {
 public:
  ServerLink(const Job& job, Context& context, Replica& replica)
      : context_(context),
        replica_(replica),
        servers_(job.ranks_of(Seat::Role::server)),
        leaves_buckets_open_(job.experiment().sync.overlap == "both"),
        versions_(servers_.size(), 0),
        coordinator_(context, servers_.front()) {
    const int shards = static_cast<int>(servers_.size());
    for (int shard = 0; shard < shards; ++shard) pieces_.push_back(shard_pieces(job.model(), shards, shard));
    if (job.compression() != nullptr)
      compressor_.emplace(job, job.seats()[static_cast<std::size_t>(context.rank())].index, pieces_);
  }

  void begin(const sync::Exchange& exchange) override {
    TANDEM_CHECK(exchange.members.empty(), "groups exchange by all-reduce");
    payload_ = exchange.payload;
    result_ = {};
  }

  void offer(int bucket, const Contribution& contribution) override {
    const bool last = bucket == replica_.buckets() - 1;
    const Channel channel = last ? protocol::to_server : protocol::push_bucket(bucket);
    if (compressor_) compress(bucket);
    for (std::size_t shard = 0; shard < servers_.size(); ++shard) {
      const Note note =
          last ? CoordinatorLine::note_of(protocol::push, contribution, versions_[shard]) : Note{};
      const ShardPiece& piece = pieces_[shard][static_cast<std::size_t>(bucket)];
      const Slice payload = compressor_ ? compressor_->message(shard, bucket)
                                        : replica_.payload(payload_, piece.flat_offset, piece.elements);
      sends_.push_back(context_.send(servers_[shard], channel, payload, note));
      result_.bytes_sent += payload.size.count();
    }
  }

  // Started messages move by themselves while the worker waits for anything.
  void overlap(Pending& until) override { coordinator_.overlap(until); }

  ExchangeResult finish() override {
    const int last = replica_.buckets() - 1;
    receives_.clear();
    for (std::size_t shard = 0; shard < servers_.size(); ++shard) {
      for (int bucket = 0; bucket <= last; ++bucket) {
        const ShardPiece& piece = pieces_[shard][static_cast<std::size_t>(bucket)];
        const Channel channel = bucket == last ? protocol::from_server : protocol::reply_bucket(bucket);
        receives_.push_back(
            context_.receive(servers_[shard], channel, replica_.incoming(piece.flat_offset, piece.elements)));
        result_.bytes_received += piece.bytes().count();
      }
    }
    context_.wait_all(sends_);
    sends_.clear();
    for (std::size_t shard = 0; shard < servers_.size(); ++shard)
      take_over(context_.wait(receive_of(shard, last)).note, shard);
    if (!leaves_buckets_open_) context_.wait_all(receives_);
    return result_;
  }

  void await(int bucket) override {
    for (std::size_t shard = 0; shard < servers_.size(); ++shard)
      if (Pending& arriving = receive_of(shard, bucket); !arriving.empty()) context_.wait(arriving);
  }

  sync::Answer ask(const Contribution& contribution) override {
    const bool ready = coordinator_.ask(contribution, versions_.front());
    return {.now = context_.now(), .ready = ready, .members = {}};
  }
  void report(const Contribution& contribution) override {
    coordinator_.report(contribution, versions_.front());
  }
  std::optional<bool> told() const override { return coordinator_.told(); }

  void remember(StateArchive& state) override {
    for (std::size_t shard = 0; shard < versions_.size(); ++shard)
      state.number("link.version." + std::to_string(shard), versions_[shard]);
    if (compressor_) compressor_->remember(state);
    if (state.restores()) coordinator_.begin_round(versions_.front());
  }

  void leave() override {
    for (const Rank server : servers_) {
      // Closes every stream, since the server has posted a receive for each.
      for (int bucket = 0; bucket + 1 < replica_.buckets(); ++bucket)
        sends_.push_back(context_.send(server, protocol::push_bucket(bucket), {}));
      sends_.push_back(context_.send(server, protocol::to_server, {}, Note{.kind = protocol::leave}));
    }
    context_.wait_all(sends_);
    sends_.clear();
    coordinator_.close();
  }

 private:
  Pending& receive_of(std::size_t shard, int bucket) {
    return receives_[shard * static_cast<std::size_t>(replica_.buckets()) + static_cast<std::size_t>(bucket)];
  }

  void compress(int bucket) {
    const auto& extent = replica_.description().buckets[static_cast<std::size_t>(bucket)];
    Pending compressed = context_.compute(
        {.kind = Work::Kind::compress, .bucket = bucket, .bytes = Bytes(extent.parameters * 4)},
        compressor_->compress(replica_, payload_, bucket, versions_));
    overlap(compressed);
  }

  void take_over(const Note& reply, std::size_t shard) {
    TANDEM_CHECK(reply.kind == protocol::reply, "kind", reply.kind);
    versions_[shard] = reply.version;
    if (shard > 0) return;  // the first shard coordinates
    coordinator_.begin_round(reply.version);
    result_.version = reply.version;
    result_.batch = reply.samples;
    result_.local_steps = reply.local_steps;
    result_.stop = reply.value == 1;
    result_.samples = reply.all_samples;
  }

  Context& context_;
  Replica& replica_;
  std::vector<Rank> servers_;
  std::vector<std::vector<ShardPiece>> pieces_;  ///< by shard, by bucket
  bool leaves_buckets_open_;                     ///< when an exchange is finished
  std::vector<int> versions_;  ///< of the model's part, by shard: each counts its own updates
  std::optional<PushCompressor> compressor_;
  CoordinatorLine coordinator_;
  sync::Payload payload_ = sync::Payload::gradient;
  ExchangeResult result_;
  std::vector<Pending> sends_;
  std::vector<Pending> receives_;  ///< by shard, by bucket
};

}  // namespace

std::unique_ptr<Link> make_server_link(const Job& job, Context& context, Replica& replica) {
  return std::make_unique<ServerLink>(job, context, replica);
}

}  // namespace tandem
