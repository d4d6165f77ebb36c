// Push and pull: every bucket of the payload is sent to the servers that hold pieces of it; they reply with
// the new model, or with the mean gradient that leads to it.
#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/exchange/compressed_push.hpp"
#include "workloads/exchange/compressed_reply.hpp"
#include "workloads/exchange/coordinator_client.hpp"
#include "workloads/exchange/exchange.hpp"
#include "workloads/exchange/member_exchange.hpp"
#include "workloads/job/plan/data_plan.hpp"
#include "workloads/job/plan/shard_layout.hpp"
#include "workloads/protocol.hpp"

namespace tandem {
namespace {

/// The last piece of a push, or by key of a bucket, brings the note: the bucket of its channel. None for
/// other pieces.
std::optional<std::int32_t> bucket_of_note(const ShardPieces& pieces, std::size_t piece, bool by_key) {
  if (piece + 1 == pieces.size()) return Channel::no_bucket;
  const int bucket = pieces[piece].bucket;
  return by_key && pieces[piece + 1].bucket != bucket ? std::optional(bucket) : std::nullopt;
}

/// The bucket of the channel on which a server expects the next note of a worker between two exchanges.
std::int32_t bucket_of_first_note(const ShardPieces& pieces, bool by_key) {
  return bucket_of_note(pieces, keys_of(pieces, by_key).front().last, by_key).value();
}

class ServerExchange final : public Exchange, public MemberExchange {
 public:
  ServerExchange(const Roster& roster, const ExchangePlan& plan, const DataPlan& data, Context& context,
                 Replica& replica)
      : context_(context),
        replica_(replica),
        servers_(roster.servers()),
        coordinating_(static_cast<std::size_t>(roster.assignment(*roster.coordinator()).index)),
        layout_(plan.shard_layout()),
        defers_buckets_(plan.overlaps_forward()),
        requests_pulls_(plan.requests_pulls()),
        by_key_(plan.exchanges_by_key()),
        brings_means_(plan.servers_send_means()),
        omits_known_models_(plan.replies_omit_known_models()),
        versions_(servers_.size(), 0),
        numbers_(servers_.size(), 0),
        coordinator_(context, *roster.coordinator(), bucket_of_first_note(layout_[coordinating_], by_key_),
                     plan.cancels_steps()),
        receives_(servers_.size()) {
    for (std::size_t shard = 0; shard < servers_.size(); ++shard)
      receives_[shard].resize(layout_[shard].size());
    slots_ = std::ssize(roster.workers());
    knows_samples_ = data.knows_samples();
    if (roster.steward())
      deals_.emplace(roster.workers().size(), roster.first_workers().size(), data.deals().before(),
                     sampling::MemberDeals::Rules{.knows_samples = knows_samples_,
                                                  .deals_again = data.deals().are_repeated()});
    if (plan.compression() != nullptr)
      compressor_.emplace(plan, replica.has_values(), context.device(),
                          roster.assignment(context.rank()).index);
    if (plan.compresses_replies()) decoder_.emplace(plan, replica.has_values(), context.device());
  }

  void begin(const sync::Exchange& exchange) override {
    TANDEM_CHECK(exchange.members.empty(), "groups exchange by all-reduce");
    payload_ = exchange.payload;
    result_ = {};
    ready_ = 0;
    is_withdrawn_ = false;
    coordinator_.listen_for_cancels();
  }

  void bucket_ready(int bucket, const protocol::Push& push) override {
    if (compressor_) compress(bucket);
    ready_ = bucket + 1;
    push_ = push;
    push_.commit_round = commit_round_;
    if (!by_key_) send_push(bucket);
  }

  bool is_cancelled() override { return coordinator_.is_cancelled(); }

  /// The servers have posted receives for all pieces.
  void withdraw(const protocol::Push& push) override {
    push_ = push;
    push_.commit_round = commit_round_;
    is_withdrawn_ = true;
    for (int bucket = ready_; bucket < replica_.buckets() && !by_key_; ++bucket) send_push(bucket);
  }

  // Started messages progress during any wait of the worker.
  Completion wait_progressing(Pending& until) override { return coordinator_.wait_progressing(until); }

  ExchangeResult finish() override {
    if (by_key_)
      exchange_keys();
    else
      pull({});
    std::size_t dropping = 0;
    for (std::size_t shard = 0; shard < servers_.size(); ++shard) {
      const auto reply = protocol::unpack<protocol::Reply>(context_.wait(receives_[shard].back()).note);
      on_reply(reply, shard);
      dropping += reply.dropped ? 1 : 0;
    }
    result_.is_split = dropping > 0 && dropping < servers_.size();
    if (!defers_buckets_) {
      for (auto& of_shard : receives_) context_.wait_all(of_shard);
      for (int bucket = 0; bucket < replica_.buckets(); ++bucket) decode(bucket);
    }
    if (decoder_) result_.bytes_received += decoder_->bytes();
    return result_;
  }

  void await(int bucket) override {
    for (std::size_t shard = 0; shard < servers_.size(); ++shard)
      for (std::size_t index = 0; index < receives_[shard].size(); ++index)
        if (layout_[shard][index].bucket == bucket && !receives_[shard][index].empty())
          context_.wait(receives_[shard][index]);
    decode(bucket);
  }

  void serialise(StateArchive& state) override {
    for (std::size_t shard = 0; shard < versions_.size(); ++shard)
      state.number("exchange.version." + std::to_string(shard), versions_[shard]);
    if (state.restores()) numbers_.assign(versions_.begin(), versions_.end());
    if (compressor_) compressor_->serialise(state);
    if (state.restores() && decoder_) decoder_->begin_anew();
    if (state.restores()) coordinator_.begin_round(versions_[coordinating_]);
  }

  /// Each server says when it is ready: then no message to the slot's last worker is left.
  Arrival join(int incarnation) override {
    std::vector<Pending> arrivals;
    for (const Rank server : servers_)
      arrivals.push_back(
          protocol::send<"arrivals">(context_, server, protocol::Arrived{.incarnation = incarnation}));
    Arrival arrival;
    for (std::size_t shard = 0; shard < servers_.size(); ++shard) {
      const protocol::Welcome welcome = await_welcome(servers_[shard], incarnation);
      if (shard == coordinating_) {
        arrival = {.rounds = welcome.rounds, .samples = welcome.samples, .steps = welcome.steps};
        const auto numbers = receive_deals(welcome.deals);
        if (knows_samples_) deals_->restore(numbers);
      }
      expect_reply(shard, {});
    }
    result_ = {};
    joins_ = true;
    for (std::size_t shard = 0; shard < servers_.size(); ++shard) {
      on_reply(protocol::unpack<protocol::Reply>(context_.wait(receives_[shard].back()).note), shard);
      context_.wait_all(receives_[shard]);
    }
    joins_ = false;
    context_.wait_all(arrivals);
    arrival.result = result_;
    return arrival;
  }

  MemberExchange* members() override { return deals_ ? this : nullptr; }
  void set_hooks(MemberHooks hooks) override { hooks_ = std::move(hooks); }
  const sampling::MemberDeals& deals() const override { return *deals_; }
  std::optional<Completion> wait_or_regroup(Pending& until) override { return context_.wait(until); }

  void leave() override {
    for (std::size_t shard = 0; shard < servers_.size(); ++shard) {
      // Ends every receive, since the server has posted one for each piece of the first key.
      const ShardPieces& pieces = layout_[shard];
      const ShardKey key = keys_of(pieces, by_key_).front();
      for (std::size_t piece = key.first; piece < key.last; ++piece)
        sends_.push_back(
            protocol::send<"push-pieces">(context_, servers_[shard], Slice{}, pieces[piece].bucket));
      sends_.push_back(protocol::send<"pushes">(context_, servers_[shard], protocol::Leave{}, {},
                                                bucket_of_first_note(pieces, by_key_)));
    }
    context_.wait_all(sends_);
    sends_.clear();
    coordinator_.close();
  }

 private:
  CoordinatorClient* coordinator() override { return &coordinator_; }
  int version_of_model() const override { return versions_[coordinating_]; }

  /// A server that has not noticed a departure welcomes the worker that is gone.
  protocol::Welcome await_welcome(Rank server, int incarnation) {
    while (true) {
      Pending welcome = protocol::receive<"welcomes">(context_, server);
      const auto found = protocol::unpack<protocol::Welcome>(context_.wait(welcome).note);
      if (found.incarnation == incarnation) return found;
    }
  }

  /// `count`: numbers of the message, or more.
  std::vector<std::int64_t> receive_deals(std::int64_t count) {
    std::vector<std::int64_t> numbers(knows_samples_ ? static_cast<std::size_t>(count) : 0);
    Pending arriving =
        protocol::receive<"deals">(context_, servers_[coordinating_],
                                   {Bytes(count * static_cast<std::int64_t>(sizeof(std::int64_t))),
                                    knows_samples_ ? reinterpret_cast<std::byte*>(numbers.data()) : nullptr});
    context_.wait(arriving);
    return numbers;
  }

  /// Receives the deals after those that this worker knows, up to the first `dealt` ones. A newcomer knows
  /// all.
  void follow_deals(std::int32_t dealt) {
    const std::int32_t count = dealt - std::exchange(deals_followed_, dealt);
    if (count == 0 || joins_) return;
    const auto numbers = receive_deals(count * sampling::MemberDeals::most_numbers_of_change(slots_));
    if (!knows_samples_) return;
    for (const auto& change : sampling::changes_from(numbers, count)) {
      deals_->follow(change);
      hooks_.dealt(*deals_);
    }
  }

  void compress(int bucket) {
    const auto& extent = replica_.description().buckets[static_cast<std::size_t>(bucket)];
    Pending compressed = context_.compute(
        {.kind = Work::Kind::compress, .bucket = bucket, .bytes = Bytes(extent.parameters * 4)},
        compressor_->compress(replica_, payload_, bucket, numbers_));
    wait_progressing(compressed);
  }

  /// The bucket's part of compressed replies has arrived.
  void decode(int bucket) {
    if (!decoder_ || !decoder_->has_message()) return;
    Pending decoded = context_.compute(
        {.kind = Work::Kind::decompress, .bucket = bucket, .bytes = decoder_->values(bucket)},
        decoder_->decode(replica_, bucket));
    wait_progressing(decoded);
  }

  /// The pieces of a bucket, as indices into those of the shard; without a bucket all of them.
  std::pair<std::size_t, std::size_t> range_of(std::size_t shard, std::optional<int> bucket) const {
    const ShardPieces& pieces = layout_[shard];
    if (!bucket) return {0, pieces.size()};
    const auto range = std::ranges::equal_range(pieces, *bucket, {}, &ShardPiece::bucket);
    return {static_cast<std::size_t>(range.begin() - pieces.begin()),
            static_cast<std::size_t>(range.end() - pieces.begin())};
  }

  void send_push(int bucket) {
    for (std::size_t shard = 0; shard < servers_.size(); ++shard) {
      push_.version = versions_[shard];
      const auto [begin, end] = range_of(shard, bucket);
      for (std::size_t index = begin; index < end; ++index) {
        const ShardPiece& piece = layout_[shard][index];
        const Slice payload = payload_of(shard, index);
        const Rank server = servers_[shard];
        const auto with_note = bucket_of_note(layout_[shard], index, by_key_);
        sends_.push_back(with_note
                             ? protocol::send<"pushes">(context_, server, note_of_push(), payload, *with_note)
                             : protocol::send<"push-pieces">(context_, server, payload, piece.bucket));
        result_.bytes_sent += payload.size.count();
      }
    }
  }

  Slice payload_of(std::size_t shard, std::size_t index) {
    if (is_withdrawn_) return {};
    const ShardPiece& piece = layout_[shard][index];
    return compressor_ ? compressor_->message(shard, index)
                       : replica_.payload(payload_, piece.flat_offset, piece.elements);
  }

  protocol::NoteOf<"pushes"> note_of_push() const {
    if (!is_withdrawn_) return push_;
    return protocol::Withdrawn{.version = push_.version,
                               .samples = push_.samples,
                               .local_steps = push_.local_steps,
                               .commit_round = push_.commit_round,
                               .duration = push_.duration};
  }

  /// Expects the reply to the push of this bucket, or of all, in the order in which its pieces are sent.
  void expect_reply(std::size_t shard, std::optional<int> bucket) {
    const auto [begin, end] = range_of(shard, bucket);
    for (std::size_t index = end; index-- > begin;) {
      const ShardPiece& piece = layout_[shard][index];
      const bool last = index + 1 == layout_[shard].size();
      const bool is_message = decoder_ && decoder_->expects_message(shard);
      const Slice into =
          is_message ? decoder_->buffer(shard, index) : replica_.incoming(piece.flat_offset, piece.elements);
      receives_[shard][index] =
          last ? protocol::receive<"replies">(context_, servers_[shard], into)
               : protocol::receive<"reply-pieces">(context_, servers_[shard], into, piece.bucket);
      if (!is_message) result_.bytes_received += piece.bytes().count();
    }
  }

  /// Expects the replies of all servers, and asks for them where servers wait for that.
  void pull(std::optional<int> bucket) {
    for (std::size_t shard = 0; shard < servers_.size(); ++shard) expect_reply(shard, bucket);
    context_.wait_all(sends_);
    sends_.clear();
    if (!requests_pulls_) return;
    for (std::size_t shard = 0; shard < servers_.size(); ++shard) {
      const auto [begin, end] = range_of(shard, bucket);
      for (std::size_t index = end; index-- > begin;)
        sends_.push_back(protocol::send<"pulls">(context_, servers_[shard], protocol::Pull{}, {},
                                                 layout_[shard][index].bucket));
    }
  }

  /// Exchanges one bucket after the other. The next one starts when the last one was answered, which in
  /// rounds needs the pushes of all workers. Not during the backward pass: the answer replaces parameters
  /// that the pass may still need. `finish` handles the notes of the replies.
  void exchange_keys() {
    for (int bucket = 0; bucket < replica_.buckets(); ++bucket) {
      send_push(bucket);
      pull(bucket);
      if (bucket + 1 == replica_.buckets()) return;
      await(bucket);
    }
  }

  void on_reply(const protocol::Reply& reply, std::size_t shard) {
    const bool brings = !(omits_known_models_ && !joins_ && reply.version == versions_[shard]);
    if (!brings && !(decoder_ && decoder_->expects_message(shard)))
      for (const ShardPiece& piece : layout_[shard]) result_.bytes_received -= piece.bytes().count();
    if (decoder_) decoder_->on_reply(shard, reply.version, brings);
    versions_[shard] = reply.version;
    numbers_[shard] = number_of_push(numbers_[shard], reply.version);
    if (compressor_ && reply.dropped) compressor_->take_back(shard, ready_);
    if (shard != coordinating_) return;
    coordinator_.begin_round(reply.version);
    result_.version = reply.version;
    result_.batch = reply.batch;
    result_.local_steps = reply.local_steps;
    result_.stop = reply.stops;
    result_.samples = reply.all_samples;
    result_.commit_round = commit_round_ = reply.commit_round;
    follow_deals(reply.deals);
    if (!brings_means_) return;
    result_.sum_of = 1;
    result_.rounds = reply.version;  // each has one update
  }

  Context& context_;
  Replica& replica_;
  std::span<const Rank> servers_;  ///< by shard
  std::size_t coordinating_;       ///< the shard whose server answers reports and ends the job
  const ShardLayout& layout_;
  bool defers_buckets_;                         ///< `finish` leaves them to `await`
  bool requests_pulls_;                         ///< the servers wait for them
  bool by_key_;                                 ///< buckets are exchanged one after the other, by `finish`
  bool brings_means_;                           ///< instead of the model
  bool omits_known_models_;                     ///< a reply without a new version has empty pieces
  std::optional<sampling::MemberDeals> deals_;  ///< where workers may depart
  MemberHooks hooks_;
  std::int64_t slots_ = 0;  ///< of workers: no deal has more
  bool knows_samples_ = false;
  bool joins_ = false;
  std::int32_t deals_followed_ = 0;
  std::vector<int> versions_;          ///< of the model's part, by shard: each counts its own updates
  std::vector<std::int64_t> numbers_;  ///< of the next push, by shard
  std::optional<PushCompressor> compressor_;
  std::optional<ReplyDecoder> decoder_;
  std::int32_t commit_round_ = 0;  ///< as the coordinator said last, for the other servers
  CoordinatorClient coordinator_;
  sync::Payload payload_ = sync::Payload::gradient;
  protocol::Push push_;        ///< to the server to which it is being sent
  int ready_ = 0;              ///< buckets of the exchange
  bool is_withdrawn_ = false;  ///< the others are sent without payload
  ExchangeResult result_;
  std::vector<Pending> sends_;
  std::vector<std::vector<Pending>> receives_;  ///< by shard, by piece
};

}  // namespace

std::unique_ptr<Exchange> make_server_exchange(const Roster& roster, const ExchangePlan& plan,
                                               const DataPlan& data, Context& context, Replica& replica) {
  return std::make_unique<ServerExchange>(roster, plan, data, context, replica);
}

}  // namespace tandem
