// Receives the tokens of a JSON text from nlohmann-json's parser, and passes them on: events of a trace to a
// builder, nodes of an execution trace, and members of DDP's logging data.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "workloads/trace/ddp_logging.hpp"
#include "workloads/trace/event.hpp"
#include "workloads/trace/execution_nodes.hpp"
#include "workloads/trace/text_source.hpp"
#include "workloads/trace/trace_builder.hpp"

namespace tandem::trace {

/// Reads ranks and devices from the text outside of events. Skips everything else: hosts, users, jobs,
/// paths.
class MetadataReader {
 public:
  explicit MetadataReader(Metadata& metadata) : metadata_(metadata) {}
  /// `depth`: number of open objects and lists.
  void key(const std::string& key, int depth);
  void text(const std::string& value, int depth);
  void number(std::int64_t value, int depth);
  /// The last key, and that of the outermost object.
  const std::string& key() const { return key_; }
  const std::string& top_key() const { return top_key_; }

 private:
  Metadata& metadata_;
  std::string top_key_;
  std::string key_;
  std::int64_t device_number_ = 0;
};

/// Receives the tokens outside of events: metadata, nodes of an execution trace, members of DDP's logging
/// data. `depth`: number of open objects and lists.
class OuterText {
 public:
  /// `file`: for messages.
  OuterText(Metadata& metadata, const std::string& file) : metadata_(metadata), nodes_(file), file_(file) {}

  void begin(int depth, bool is_list);
  void end(int depth);
  void key(const std::string& key, int depth);
  void text(const std::string& value, int depth);
  void number(std::int64_t value, int depth);
  void restart() { nodes_depth_ = 0; }
  const std::string& top_key() const { return metadata_.top_key(); }
  /// The job of an execution trace, or of DDP's logging data. Nothing for other texts.
  std::optional<JobDescription> describe();

 private:
  MetadataReader metadata_;
  ExecutionNodes nodes_;
  DdpLogging logging_;
  std::string file_;
  int nodes_depth_ = 0;  ///< of the list of nodes; 0: not in it
  bool has_nodes_ = false;
};

/// Errors: ConfigError for text that is nested too deeply.
class JsonEvents {
 public:
  JsonEvents(TextSource& source, TraceBuilder& builder, std::function<void()> progress);

  /// Continues after broken text, inside the list of events.
  void restart();
  /// Whether a list of events has begun.
  bool has_events() const { return has_list_; }
  bool is_list() const { return is_list_; }
  /// The job of a text without events: an execution trace, or DDP's logging data. Nothing for other texts.
  std::optional<JobDescription> describe() { return outer_.describe(); }

  // What nlohmann-json's parser calls; false ends the parsing.
  bool null() { return end_value(); }
  bool boolean(bool value) { return integer(value ? 1 : 0); }
  bool number_integer(std::int64_t value) { return integer(value); }
  bool number_unsigned(std::uint64_t value);
  bool number_float(double value, const std::string& text);
  bool string(std::string& value);
  bool binary(nlohmann::json::binary_t&) { return end_value(); }
  bool start_object(std::size_t);
  bool key(std::string& value);
  bool end_object();
  bool start_array(std::size_t);
  bool end_array();
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) { return false; }

 private:
  bool is_in_event() const { return event_depth_ > 0 && depth_ >= event_depth_; }
  bool integer(std::int64_t value);
  bool end_value();
  void begin_nested();
  void collect(const std::string& value);

  TextSource& source_;
  TraceBuilder& builder_;
  std::function<void()> progress_;
  Event event_;
  OuterText outer_;
  std::uint64_t events_ = 0;
  int depth_ = 0;            ///< open objects and lists
  int list_depth_ = 0;       ///< of the list of events; 0: not in it
  int event_depth_ = 0;      ///< of the event; 0: in none
  int collected_depth_ = 0;  ///< of the list that is collected as text; 0: none
  Field field_ = Field::other;
  bool is_skipped_ = false;  ///< only the number of this event is read
  bool has_args_ = false;    ///< the object that is open in the event is "args"
  bool has_list_ = false;
  bool is_list_ = false;  ///< the text is a list of events
};

}  // namespace tandem::trace
