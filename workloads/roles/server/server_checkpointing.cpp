#include "workloads/roles/server/server_checkpointing.hpp"

#include <algorithm>
#include <utility>

#include "workloads/protocol.hpp"
#include "workloads/vectors/owned_mark.hpp"

namespace tandem {

ServerCheckpointing::ServerCheckpointing(const Job& job, Context& context, Journal& journal,
                                         const ServerModel& model, State state)
    : job_(job),
      context_(context),
      model_(model),
      state_(std::move(state)),
      holds_model_(job.exchange().servers_hold_model()),
      checkpoints_(job, context),
      accuracy_stop_(job, context),
      states_(job, context.rank()),
      records_(job, context.rank(), journal),
      commits_(job, context, journal, [&context](Pending& until) { return context.wait(until); }),
      events_(job.real_math() && job.checkpoints().keeps_states()
                  ? events_path(job.spec().directory, job.roster().assignment(context.rank()))
                  : "") {}

void ServerCheckpointing::save_if_due(std::int64_t round, std::int64_t samples, bool is_last) {
  if (states_.is_due(round)) {
    events_.flush();
    records_.save({.round = round});
    states_.save(round, state_());
  }
  if (holds_model_ && checkpoints_.is_due(round)) {
    const std::vector<float> whole = gather_model();
    checkpoints_.save(round, samples, whole, is_last);
  }
}

/// The writer gets the parts of the model last, so all servers have written theirs when it has.
void ServerCheckpointing::commit(std::int64_t round, std::int64_t samples) {
  const bool is_evaluated = checkpoints_.is_due(round);
  if (is_evaluated && is_writer()) checkpoints_.note_due(round, samples);
  commits_.begin(round);
  PartOfCommit part{.model_stays = is_evaluated, .is_whole = records_.try_save({.round = round})};
  if (commits_.own().has_files()) part.state = state_();
  events_.flush_if_possible();
  if (holds_model_ && is_writer()) part.model = gather_model();
  commits_.write(std::move(part));
  if (holds_model_ && !is_writer()) gather_model();
}

void ServerCheckpointing::finish(std::int64_t round) {
  if (!holds_model_) return;
  const std::vector<float> final_model = gather_model();
  if (is_writer()) checkpoints_.finish(round, final_model);
}

/// The other servers send their parts to the writer, and get an empty vector. When math is modelled, messages
/// have the same sizes.
std::vector<float> ServerCheckpointing::gather_model() {
  const auto snapshot = model_.snapshot();
  if (!is_writer()) {
    float* data = snapshot ? snapshot->data() : nullptr;
    Pending part = protocol::send<"checkpoint-parts">(context_, job_.checkpoints().writer,
                                                      {model_.bytes(), reinterpret_cast<std::byte*>(data)});
    context_.wait(part);
    return {};
  }
  std::vector<float> whole = model_.initial();
  whole.resize(snapshot ? static_cast<std::size_t>(job_.model().elements()) : 0);
  std::vector<float> received;
  if (snapshot) {
    received.resize(snapshot->size());
    copy_and_await(context_.device(), received.data(), snapshot->data(), snapshot->bytes());
  }
  const auto servers = job_.roster().servers();
  for (std::size_t shard = 0; shard < servers.size(); ++shard) {
    const ShardPieces& pieces = job_.exchange().shard_layout()[shard];
    if (servers[shard] != context_.rank()) {
      received.resize(snapshot ? static_cast<std::size_t>(shard_elements(pieces)) : 0);
      std::byte* target = snapshot ? reinterpret_cast<std::byte*>(received.data()) : nullptr;
      Pending arriving = protocol::receive<"checkpoint-parts">(context_, servers[shard],
                                                               {Bytes(shard_elements(pieces) * 4), target});
      context_.wait(arriving);
    }
    if (!snapshot) continue;
    for (const ShardPiece& piece : pieces)
      std::copy_n(received.begin() + piece.shard_offset, piece.elements, whole.begin() + piece.flat_offset);
  }
  return whole;
}

}  // namespace tandem
