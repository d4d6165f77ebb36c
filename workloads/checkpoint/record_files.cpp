#include "workloads/checkpoint/record_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "policies/sync/replay.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/files/whole_file.hpp"
#include "workloads/job/plan/workers_of_generation.hpp"
#include "workloads/records/journal_bytes.hpp"

namespace tandem {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* records_format = "tandem records";
constexpr int records_version = 2;
constexpr const char* records_ending = ".records";
constexpr const char* announced_ending = ".announced";
constexpr Seconds note_interval{0.25};
/// The most bytes of one part.
constexpr std::size_t most_bytes = 4U << 20U;

/// One file of records as it is read. Bytes are those of one journal for each mark.
struct RecordFile {
  std::string path;
  int generation = 0;
  int part = 0;
  bool is_rest = false;  ///< has the records that were in no part when it was written
  Seconds began{0};
  std::vector<std::pair<RecordMark, std::string>> frames = {};
};

std::string text_of(const RecordFile& file) {
  json marks = json::array();
  for (const auto& [mark, bytes] : file.frames)
    marks.push_back(json::array({mark.round, mark.steps, bytes.size()}));
  std::string text = json{{"format", records_format},
                          {"version", records_version},
                          {"generation", file.generation},
                          {"began_s", file.began.count()},
                          {"frames", std::move(marks)}}
                         .dump() +
                     '\n';
  for (const auto& [mark, bytes] : file.frames) text += bytes;
  return text;
}

/// "worker_0.1-3": generation 1, part 3; nothing for another rank's file.
std::optional<std::pair<int, int>> numbers_in(std::string_view name, const std::string& rank) {
  if (name.starts_with("round_")) {
    const auto dot = name.find('.');
    if (dot == std::string_view::npos) return std::nullopt;
    name.remove_prefix(dot + 1);
  }
  if (!name.starts_with(rank + '.') || !name.ends_with(records_ending)) return std::nullopt;
  name.remove_prefix(rank.size() + 1);
  std::pair<int, int> numbers;
  const char* const end = name.data() + name.size();
  const auto [dash, error] = std::from_chars(name.data(), end, numbers.first);
  if (error != std::errc() || dash == end || *dash != '-') return std::nullopt;
  if (std::from_chars(dash + 1, end, numbers.second).ec != std::errc()) return std::nullopt;
  return numbers;
}

std::string name_of(const RankAssignment& assignment) {
  return fmt::format("{}_{}", role_name(assignment.role), assignment.index);
}

void load(RecordFile& file) {
  std::ifstream stream(file.path, std::ios::binary);
  std::string line;
  std::getline(stream, line);
  try {
    const json header = json::parse(line);
    if (header.at("format") != records_format || header.at("version") != records_version)
      throw ConfigError(fmt::format("{}: another version of Tandem wrote these records", file.path));
    file.began = Seconds(header.at("began_s").get<double>());
    for (const auto& frame : header.at("frames")) {
      auto& [mark, bytes] = file.frames.emplace_back();
      mark = {frame.at(0).get<std::int64_t>(), frame.at(1).get<std::int64_t>(), file.generation};
      bytes.resize(frame.at(2).get<std::size_t>());
      stream.read(bytes.data(), std::ssize(bytes));
    }
  } catch (const json::exception&) {
    throw ConfigError(file.path + ": expected records that Tandem wrote, found other bytes");
  }
  if (!stream) throw ConfigError(file.path + ": records are incomplete");
}

/// In the order in which they were recorded.
std::vector<RecordFile> files_of(const std::string& directory, const RankAssignment& assignment) {
  std::vector<RecordFile> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory + "/checkpoints", error)) {
    const std::string name = entry.path().filename().string();
    if (const auto numbers = numbers_in(name, name_of(assignment)))
      files.push_back({.path = entry.path().string(),
                       .generation = numbers->first,
                       .part = numbers->second,
                       .is_rest = !name.starts_with("round_")});
  }
  const auto place = [](const RecordFile& file) { return std::tuple(file.generation, file.part); };
  std::ranges::sort(files, [&](const RecordFile& one, const RecordFile& other) {
    return std::tuple(place(one), one.is_rest) < std::tuple(place(other), other.is_rest);
  });
  // A part holds all that the file before it held; a rank that was killed did not remove that one.
  const auto repeated = std::ranges::unique(files, {}, place);
  files.erase(repeated.begin(), repeated.end());
  for (RecordFile& file : files) load(file);
  return files;
}

/// With times since the job began.
Journal journal_of(const RecordFile& file) {
  Journal journal;
  for (const auto& [mark, bytes] : file.frames)
    journal.append(journal_from_bytes(std::as_bytes(std::span(bytes))));
  shift_times(journal, file.began);
  return journal;
}

/// Each worker's steps in the order of time, by rank. A worker that was absent does not count the steps of
/// the others, and a server not those that were lost with a machine.
void number_steps(Journal& journal) {
  std::ranges::sort(journal.steps, {},
                    [](const StepRecord& step) { return std::pair(step.rank, step.start); });
  std::map<Rank, int> steps;
  for (StepRecord& step : journal.steps) step.step = steps[step.rank]++;
}

}  // namespace

RecordFiles::RecordFiles(const Job& job, Rank rank, const Journal& journal)
    : parts_(journal),
      assignment_(job.roster().assignment(rank)),
      directory_(job.spec().directory),
      keeps_(job.generation() != nullptr),
      notes_(!job.exchange().has_common_rounds() ||
             (job.roster().steward() && job.exchange().route() == sync::Route::server)),
      schedule_(job.checkpoints().schedule()) {
  if (!keeps_) return;
  generation_ = job.generation()->number();
  began_ = job.generation()->began;
  fs::create_directories(directory_ + "/checkpoints");
}

void RecordFiles::save(const RecordMark& mark) {
  if (!keeps_) return;
  add(mark);
  write_part(mark.round);
}

bool RecordFiles::try_save(const RecordMark& mark) {
  try {
    save(mark);
    return true;
  } catch (const WorldError&) {
    return false;
  }
}

void RecordFiles::note(const RecordMark& mark, Seconds now) {
  if (!keeps_ || !notes_) return;
  add(mark);
  if (now < noted_ + note_interval && (!is_part_due(mark) || fails_)) return;
  write_noted(mark, now);
}

bool RecordFiles::note_at_once(const RecordMark& mark, Seconds now) {
  if (!keeps_) return false;
  add(mark);
  write_noted(mark, now);
  return !fails_;
}

bool RecordFiles::is_part_due(const RecordMark& mark) const {
  return schedule_.has_passed(mark.round) || bytes_ > most_bytes;
}

void RecordFiles::write_noted(const RecordMark& mark, Seconds now) {
  try_to_write([&] { is_part_due(mark) ? write_part(mark.round) : write_rest(now); }, now);
}

void RecordFiles::note_done(Seconds now) {
  if (!keeps_ || now < noted_ + note_interval) return;
  add({});
  try_to_write(
      [&] {
        write_rest(now);
        if (bytes_ > most_bytes) write_part(0);
      },
      now);
}

/// All is kept until it is written.
void RecordFiles::try_to_write(const std::function<void()>& write, Seconds now) {
  noted_ = now;
  try {
    write();
    fails_ = false;
  } catch (const WorldError&) {
    fails_ = true;
  }
}

void RecordFiles::write_rest(Seconds now) {
  write(path_of({}));
  has_rest_ = true;
  noted_ = now;
}

void RecordFiles::add(const RecordMark& mark) {
  const auto bytes = to_bytes(parts_.take());
  frames_.push_back({mark, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}});
  bytes_ += bytes.size();
}

std::string RecordFiles::path_of(std::optional<std::int64_t> round) const {
  const std::string first = round ? fmt::format("round_{:08}.", *round) : "";
  return fmt::format("{}/checkpoints/{}{}.{}-{}{}", directory_, first, name_of(assignment_), generation_,
                     part_, records_ending);
}

void RecordFiles::write(const std::string& path) const {
  RecordFile file{.path = path, .generation = generation_, .part = part_, .began = began_};
  for (const Frame& frame : frames_) file.frames.emplace_back(frame.mark, frame.bytes);
  write_own_file(path, text_of(file));
}

void RecordFiles::write_part(std::int64_t round) {
  schedule_.begin_again(round);
  write(path_of(round));
  if (std::exchange(has_rest_, false)) fs::remove(path_of({}));
  frames_.clear();
  bytes_ = 0;
  ++part_;
}

Journal records_before(const std::string& directory, const RankAssignment& assignment, int generation,
                       int first) {
  Journal all;
  for (RecordFile& file : files_of(directory, assignment))
    if (file.generation >= first && file.generation < generation) all.append(journal_of(file));
  return all;
}

Journal records_that_stay(const std::string& directory, const RankAssignment& assignment,
                          const std::function<bool(const RecordMark&)>& stays) {
  Journal all;
  for (RecordFile& file : files_of(directory, assignment)) {
    std::erase_if(file.frames, [&](const auto& frame) { return !stays(frame.first); });
    all.append(journal_of(file));
  }
  return all;
}

JobRecords::JobRecords(const Job& job, std::string directory) : job_(job), directory_(std::move(directory)) {}

void JobRecords::add(Rank rank, Journal own) {
  const Generation& generation = *job_.generation();
  add_earlier(job_.roster().assignment(rank));
  shift_times(own, generation.began);
  add_to(generation.number(), std::move(own));
}

void JobRecords::add_earlier(const RankAssignment& assignment) {
  for (RecordFile& file : files_of(directory_, assignment))
    if (file.generation < job_.generation()->number()) add_to(file.generation, journal_of(file));
}

void JobRecords::add_to(int generation, Journal journal) {
  const Generation& present = *job_.generation();
  if (present.hosts.empty()) return journals_[0].append(std::move(journal));
  const auto slots = slots_of(present, generation);
  begin_policies(generation, static_cast<int>(slots.size()), journal);
  number_as_in_whole(journal, slots, static_cast<int>(present.hosts.size()));
  journals_[generation].append(std::move(journal));
}

/// A generation with other workers has new policies, for these alone.
void JobRecords::begin_policies(int generation, int workers, Journal& journal) {
  std::vector<DecisionRecord> decisions;
  for (DecisionRecord& decision : journal.decisions) {
    const bool is_worker = decision.side == "worker";
    if ((is_worker || decision.side == "server") &&
        begun_.emplace(generation, decision.rank, decision.side).second) {
      const sync::Begun begun{.workers = workers, .index = is_worker ? decision.rank : 0};
      decisions.push_back({decision.rank, decision.side, sync::begin_event(begun), ""});
    }
    decisions.push_back(std::move(decision));
  }
  journal.decisions = std::move(decisions);
}

Journal JobRecords::take(Seconds makespan, bool decisions) {
  const Generation& generation = *job_.generation();
  const auto workers = static_cast<int>(job_.roster().workers().size());
  for (int index = workers; index < static_cast<int>(generation.hosts.size()); ++index)
    add_earlier({Roster::Role::worker, index, std::string()});
  Journal all;
  for (auto& [number, journal] : journals_) all.append(std::move(journal));
  journals_.clear();
  const bool varies = !generation.hosts.empty() || (job_.roster().steward() && generation.number() > 0);
  if (varies) number_steps(all);
  // A commit from which the job has started again is recorded by both generations.
  std::set<std::int64_t> rounds;
  std::erase_if(all.commits, [&](const CommitRecord& commit) { return !rounds.insert(commit.round).second; });
  // Where workers come and go, several of them have recorded commits.
  std::ranges::stable_sort(all.commits, {}, &CommitRecord::round);
  add_counts(all);
  add_machines(all, makespan);
  if (!decisions) return all;
  for (const auto& decided : generation.decisions)
    if (decided.at <= makespan) all.decisions.push_back(decided.record);
  return all;
}

/// What happened to the machines that the launcher knows. In place, a steward has recorded those of workers,
/// and counted the changes of members, which the launcher does not know.
void JobRecords::add_machines(Journal& all, Seconds makespan) const {
  Journal machines;
  for (const auto& change : job_.generation()->membership)
    if (change.time <= makespan) machines.membership.push_back(change);
  if (!job_.roster().steward()) {
    std::ranges::move(machines.membership, std::back_inserter(all.membership));
    return;
  }
  all.append(std::move(machines));
  std::int64_t view = 0;
  for (auto& change : all.membership) {
    const bool is_of_launcher = change.slot < 0 && !change.host.empty();
    if (is_of_launcher) change.view = view;
    view = std::max(view, change.view);
  }
}

std::vector<RecordMark> record_marks(const std::string& directory, const RankAssignment& assignment) {
  std::vector<RecordMark> marks;
  for (const RecordFile& file : files_of(directory, assignment))
    for (const auto& [mark, bytes] : file.frames) marks.push_back(mark);
  return marks;
}

void keep_records(const std::string& directory, const RankAssignment& assignment,
                  const std::function<bool(const RecordMark&)>& stays) {
  std::vector<RecordFile> kept;
  std::vector<std::string> removed;
  for (RecordFile& file : files_of(directory, assignment)) {
    std::erase_if(file.frames, [&](const auto& frame) { return !stays(frame.first); });
    const bool is_next = !kept.empty() && kept.back().generation == file.generation;
    if (is_next || file.frames.empty()) removed.push_back(file.path);
    if (is_next)
      std::ranges::move(file.frames, std::back_inserter(kept.back().frames));
    else if (!file.frames.empty())
      kept.push_back(std::move(file));
  }
  for (const RecordFile& file : kept) write_own_file(file.path, text_of(file));
  for (const auto& path : removed) fs::remove(path);
}

void write_announced(const std::string& directory, const AnnouncedCheckpoint& checkpoint) {
  const json text = {
      {"round", checkpoint.round}, {"samples", checkpoint.samples}, {"taken_s", checkpoint.taken.count()}};
  // Each of several servers announces it.
  write_whole_file(announced_path(directory, checkpoint.round), text.dump() + '\n');
}

std::string announced_path(const std::string& directory, std::int64_t round) {
  return fmt::format("{}/checkpoints/round_{:08}{}", directory, round, announced_ending);
}

std::vector<AnnouncedCheckpoint> announced_in(const std::string& directory) {
  std::vector<AnnouncedCheckpoint> all;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory + "/checkpoints", error)) {
    if (entry.path().extension() != announced_ending) continue;
    std::ifstream file(entry.path());
    const json text = json::parse(file, nullptr, false);
    if (text.is_discarded()) continue;
    const AnnouncedCheckpoint checkpoint{.round = text.at("round").get<std::int64_t>(),
                                         .samples = text.at("samples").get<std::int64_t>(),
                                         .taken = Seconds(text.at("taken_s").get<double>())};
    if (fs::exists(checkpoint_path(directory, checkpoint.round))) all.push_back(checkpoint);
  }
  std::ranges::sort(all, {}, &AnnouncedCheckpoint::round);
  return all;
}

std::optional<AnnouncedCheckpoint> checkpoint_of_restart(const Job& job) {
  if (!job.is_restarted()) return std::nullopt;
  const auto all = announced_in(job.resume()->directory);
  const auto found = std::ranges::find(all, job.resume()->round, &AnnouncedCheckpoint::round);
  return found == all.end() ? std::nullopt : std::optional(*found);
}

EvaluationsAtRestart evaluations_at_restart(const Job& job, const RankAssignment& evaluator) {
  EvaluationsAtRestart state;
  if (!job.is_restarted()) return state;
  const ResumePoint& from = *job.resume();
  const Journal before = records_before(from.directory, evaluator, job.generation()->number());
  for (const AnnouncedCheckpoint& checkpoint : announced_in(from.directory)) {
    const auto found = std::ranges::find(before.evaluations, checkpoint.round, &EvaluationRecord::round);
    if (found == before.evaluations.end())
      state.missing.push_back(checkpoint);
    else if (checkpoint.round == from.round)
      state.accuracy = found->accuracy;
  }
  return state;
}

void remove_record_files(const std::string& directory) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory + "/checkpoints", error)) {
    const auto ending = entry.path().extension();
    if (ending == records_ending || ending == announced_ending || ending == ".start")
      found.push_back(entry.path());
  }
  for (const auto& path : found) fs::remove(path, error);
}

}  // namespace tandem
