// The choices of an experiment on which the program branches, as enums. Each has one table of the names that
// files, JSON and messages use. Names of algorithms are not here: those are in catalogues.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace tandem {

/// workload.math: sizes and costs only, or gradients, losses and accuracy.
enum class Math : std::uint8_t { modelled, real };
/// workload.non_finite: the action after a loss or a gradient that is not finite.
enum class OnNonFinite : std::uint8_t { stop, skip, ignore };
/// workload.precision: the precision of a network's computations. Parameters, gradients and losses are
/// always fp32. tf32: as fp32, but GPUs may round the factors of products to 10 bits. bf16, fp16:
/// activations and the factors of products are bf16 or fp16; fp16 is not for real mathematics.
enum class Precision : std::uint8_t { fp32, tf32, bf16, fp16 };
/// sync.order: of the workers in an all-reduce.
enum class WorkerOrder : std::uint8_t { topology, rank };
/// sync.overlap: which passes overlap with the exchange of gradients.
enum class OverlapMode : std::uint8_t { none, backward, both };
/// data.source: each worker holds its shard in memory, or reads it through cache nodes.
enum class DataSource : std::uint8_t { memory, storage };
/// optimizer.kind.
enum class OptimizerKind : std::uint8_t { sgd, adam, adamw };
/// optimizer.update_at: where the model is updated if workers exchange over a server.
enum class UpdateSide : std::uint8_t { server, workers };
/// optimizer.gradient: what a worker computes from the losses of a batch: the gradient of their mean or sum.
enum class BatchGradient : std::uint8_t { mean, sum };
/// optimizer.schedule: how the learning rate decays after its warm-up.
enum class RateDecay : std::uint8_t { constant, step, cosine };
/// run.devices: work has the duration of the platform's device (emulated), or of this machine (native).
enum class DeviceSpeed : std::uint8_t { emulated, native };
/// run.device_messages: the way of messages of a rank on a GPU. staged: through the memory of its host.
/// direct: MPI sends them from GPU to GPU, which needs an MPI that can read GPU memory. peer: the receiver
/// copies them from the GPU of another rank of its machine. automatic: staged, as long as no measurement
/// shows that others are faster.
enum class DeviceMessages : std::uint8_t { automatic, staged, direct, peer };
/// physics.network: that of the platform file, or the calibrated one.
enum class NetworkSource : std::uint8_t { platform, profile };
/// physics.all_reduce: the algorithm of a library's all-reduce whose time is not calibrated. automatic: that
/// which the library takes.
enum class LibraryAlgorithm : std::uint8_t { automatic, ring, tree };
/// physics.noise: native work has its median duration, or varies as measured.
enum class NoiseSource : std::uint8_t { none, profile, spread };

/// data.peers: how a cache node finds another node that has a sample. none: not at all. partition, ring: all
/// nodes compute the node of each id. plan: the policy computes the content of all nodes. directory: nodes
/// report their content to a rank for this purpose, and ask it.
enum class Peers : std::uint8_t { none, partition, ring, plan, directory };
/// data.background: when reads that no batch waits for may start, if no loaders read concurrently.
enum class BackgroundReads : std::uint8_t { idle, while_computing };
/// data.store: ranks on the hosts of the stores send samples, or native cache nodes read a mounted directory.
enum class StoreAccess : std::uint8_t { served, mounted };
/// data.bad_sample: the action after a sample that cannot be read, or differs from the manifest, after
/// retries.
enum class BadSample : std::uint8_t { stop, replace };

namespace sync {
/// sync.over: how workers exchange: through the parameter server, by an all-reduce among `members`, or each
/// directly with the other `members`.
enum class Route : std::uint8_t { server, all_reduce, peers };
}  // namespace sync
/// sync.preset: sets other keys to the behaviour of a known program.
enum class SyncPreset : std::uint8_t { none, ddp };
/// sync.pull: a server sends the model when it has updated it, or when a worker's request for it arrives.
enum class ServerPull : std::uint8_t { pushed, requested };
/// sync.exchange: workers exchange all keys (buckets) of a step together, or one after the other with a
/// barrier after each.
enum class ExchangeUnit : std::uint8_t { whole, by_key };
/// sync.decides: each server decides about pushes in the order in which they reach it, or all in the order of
/// the first one.
enum class PushOrder : std::uint8_t { each_server, first_server };

/// checkpoint.mode: training waits until a commit is complete, or continues while a copy is written.
enum class CommitMode : std::uint8_t { blocking, background };
/// checkpoint.to: the shared result directory; the disk of each rank's own machine, which is lost with it; or
/// the memory of that machine and of its buddy.
enum class CommitPlace : std::uint8_t { directory, local, buddy };
/// recovery.mode: the other ranks continue when one departs, or the whole job starts again from its last
/// commit.
enum class RecoveryMode : std::uint8_t { in_place, restart };
/// run.revoke: the action of a measured run when a drawn lifetime ends: none, or kill the worker's rank.
enum class RevokeMode : std::uint8_t { none, kill };
/// recovery.scale_rate: the factor on the learning rate when n of n0 workers are present: 1, n / n0,
/// sqrt(n / n0), or sqrt(n0 / n).
enum class RateScale : std::uint8_t { keep, linear, sqrt, inverse_sqrt };
/// recovery.batch: each worker keeps its batch, or the present ones share the batches of all.
enum class BatchRule : std::uint8_t { keep, global };
/// recovery.on_loss: whether a push of a worker that is gone counts in the current round.
enum class LossRule : std::uint8_t { keep, drop };

template <class Choice>
struct ChoiceName {
  Choice value;
  std::string_view name;
};

/// The values of an enum with their names, in the order in which messages list them. Empty for other types.
template <class Choice>
inline constexpr std::array<ChoiceName<Choice>, 0> choice_names = {};

template <>
inline constexpr std::array<ChoiceName<Math>, 2> choice_names<Math> = {
    {{Math::modelled, "modelled"}, {Math::real, "real"}}};
template <>
inline constexpr std::array<ChoiceName<OnNonFinite>, 3> choice_names<OnNonFinite> = {
    {{OnNonFinite::stop, "stop"}, {OnNonFinite::skip, "skip"}, {OnNonFinite::ignore, "ignore"}}};
template <>
inline constexpr std::array<ChoiceName<Precision>, 4> choice_names<Precision> = {{{Precision::fp32, "fp32"},
                                                                                  {Precision::tf32, "tf32"},
                                                                                  {Precision::bf16, "bf16"},
                                                                                  {Precision::fp16, "fp16"}}};
template <>
inline constexpr std::array<ChoiceName<WorkerOrder>, 2> choice_names<WorkerOrder> = {
    {{WorkerOrder::topology, "topology"}, {WorkerOrder::rank, "rank"}}};
template <>
inline constexpr std::array<ChoiceName<OverlapMode>, 3> choice_names<OverlapMode> = {
    {{OverlapMode::none, "none"}, {OverlapMode::backward, "backward"}, {OverlapMode::both, "both"}}};
template <>
inline constexpr std::array<ChoiceName<DataSource>, 2> choice_names<DataSource> = {
    {{DataSource::memory, "memory"}, {DataSource::storage, "storage"}}};
template <>
inline constexpr std::array<ChoiceName<OptimizerKind>, 3> choice_names<OptimizerKind> = {
    {{OptimizerKind::sgd, "sgd"}, {OptimizerKind::adam, "adam"}, {OptimizerKind::adamw, "adamw"}}};
template <>
inline constexpr std::array<ChoiceName<UpdateSide>, 2> choice_names<UpdateSide> = {
    {{UpdateSide::server, "server"}, {UpdateSide::workers, "workers"}}};
template <>
inline constexpr std::array<ChoiceName<BatchGradient>, 2> choice_names<BatchGradient> = {
    {{BatchGradient::mean, "mean"}, {BatchGradient::sum, "sum"}}};
template <>
inline constexpr std::array<ChoiceName<RateDecay>, 3> choice_names<RateDecay> = {
    {{RateDecay::constant, "constant"}, {RateDecay::step, "step"}, {RateDecay::cosine, "cosine"}}};
template <>
inline constexpr std::array<ChoiceName<DeviceSpeed>, 2> choice_names<DeviceSpeed> = {
    {{DeviceSpeed::emulated, "emulated"}, {DeviceSpeed::native, "native"}}};
template <>
inline constexpr std::array<ChoiceName<DeviceMessages>, 4> choice_names<DeviceMessages> = {
    {{DeviceMessages::automatic, "auto"},
     {DeviceMessages::staged, "staged"},
     {DeviceMessages::direct, "direct"},
     {DeviceMessages::peer, "peer"}}};
template <>
inline constexpr std::array<ChoiceName<NetworkSource>, 2> choice_names<NetworkSource> = {
    {{NetworkSource::platform, "platform"}, {NetworkSource::profile, "profile"}}};
template <>
inline constexpr std::array<ChoiceName<LibraryAlgorithm>, 3> choice_names<LibraryAlgorithm> = {
    {{LibraryAlgorithm::automatic, "auto"},
     {LibraryAlgorithm::ring, "ring"},
     {LibraryAlgorithm::tree, "tree"}}};
template <>
inline constexpr std::array<ChoiceName<NoiseSource>, 3> choice_names<NoiseSource> = {
    {{NoiseSource::none, "none"}, {NoiseSource::profile, "profile"}, {NoiseSource::spread, "spread"}}};
template <>
inline constexpr std::array<ChoiceName<sync::Route>, 3> choice_names<sync::Route> = {
    {{sync::Route::server, "server"},
     {sync::Route::all_reduce, "all-reduce"},
     {sync::Route::peers, "peers"}}};

template <>
inline constexpr std::array<ChoiceName<SyncPreset>, 2> choice_names<SyncPreset> = {
    {{SyncPreset::none, "none"}, {SyncPreset::ddp, "ddp"}}};
template <>
inline constexpr std::array<ChoiceName<ServerPull>, 2> choice_names<ServerPull> = {
    {{ServerPull::pushed, "pushed"}, {ServerPull::requested, "requested"}}};
template <>
inline constexpr std::array<ChoiceName<ExchangeUnit>, 2> choice_names<ExchangeUnit> = {
    {{ExchangeUnit::whole, "whole"}, {ExchangeUnit::by_key, "by-key"}}};
template <>
inline constexpr std::array<ChoiceName<PushOrder>, 2> choice_names<PushOrder> = {
    {{PushOrder::each_server, "each-server"}, {PushOrder::first_server, "first-server"}}};

template <>
inline constexpr std::array<ChoiceName<CommitMode>, 2> choice_names<CommitMode> = {
    {{CommitMode::blocking, "blocking"}, {CommitMode::background, "background"}}};
template <>
inline constexpr std::array<ChoiceName<CommitPlace>, 3> choice_names<CommitPlace> = {
    {{CommitPlace::directory, "directory"}, {CommitPlace::local, "local"}, {CommitPlace::buddy, "buddy"}}};
template <>
inline constexpr std::array<ChoiceName<RecoveryMode>, 2> choice_names<RecoveryMode> = {
    {{RecoveryMode::in_place, "in-place"}, {RecoveryMode::restart, "restart"}}};
template <>
inline constexpr std::array<ChoiceName<RevokeMode>, 2> choice_names<RevokeMode> = {
    {{RevokeMode::none, "none"}, {RevokeMode::kill, "kill"}}};
template <>
inline constexpr std::array<ChoiceName<RateScale>, 4> choice_names<RateScale> = {
    {{RateScale::keep, "keep"},
     {RateScale::linear, "linear"},
     {RateScale::sqrt, "sqrt"},
     {RateScale::inverse_sqrt, "inverse-sqrt"}}};
template <>
inline constexpr std::array<ChoiceName<BatchRule>, 2> choice_names<BatchRule> = {
    {{BatchRule::keep, "keep"}, {BatchRule::global, "global"}}};
template <>
inline constexpr std::array<ChoiceName<LossRule>, 2> choice_names<LossRule> = {
    {{LossRule::keep, "keep"}, {LossRule::drop, "drop"}}};

template <>
inline constexpr std::array<ChoiceName<Peers>, 5> choice_names<Peers> = {{{Peers::none, "none"},
                                                                          {Peers::partition, "partition"},
                                                                          {Peers::ring, "ring"},
                                                                          {Peers::plan, "plan"},
                                                                          {Peers::directory, "directory"}}};
template <>
inline constexpr std::array<ChoiceName<BackgroundReads>, 2> choice_names<BackgroundReads> = {
    {{BackgroundReads::idle, "idle"}, {BackgroundReads::while_computing, "while-computing"}}};
template <>
inline constexpr std::array<ChoiceName<StoreAccess>, 2> choice_names<StoreAccess> = {
    {{StoreAccess::served, "served"}, {StoreAccess::mounted, "mounted"}}};
template <>
inline constexpr std::array<ChoiceName<BadSample>, 2> choice_names<BadSample> = {
    {{BadSample::stop, "stop"}, {BadSample::replace, "replace"}}};

template <class Type>
concept NamedChoice = std::is_enum_v<Type> && !choice_names<Type>.empty();

/// The name of a value.
template <NamedChoice Choice>
std::string to_text(Choice choice) {
  for (const auto& [value, name] : choice_names<Choice>)
    if (value == choice) return std::string(name);
  return {};
}

/// The value of that name, if there is one.
template <NamedChoice Choice>
std::optional<Choice> parse_choice(std::string_view text) {
  for (const auto& [value, name] : choice_names<Choice>)
    if (name == text) return value;
  return std::nullopt;
}

namespace sync {
inline std::string to_text(Route route) { return tandem::to_text<Route>(route); }
}  // namespace sync

}  // namespace tandem
