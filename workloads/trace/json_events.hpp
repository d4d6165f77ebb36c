// Receives the tokens of a trace's JSON text from nlohmann-json's parser, and passes the events to a
// builder.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "workloads/trace/event.hpp"
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
  /// The last key of the outermost object.
  const std::string& top_key() const { return top_key_; }

 private:
  Metadata& metadata_;
  std::string top_key_;
  std::string key_;
  std::int64_t device_number_ = 0;
};

/// Errors: ConfigError for text that is nested too deeply.
class JsonEvents {
 public:
  JsonEvents(TextSource& source, TraceBuilder& builder, std::function<void()> progress);

  /// Continues after broken text, inside the list of events.
  void restart();
  /// Whether a list of events has begun.
  bool has_events() const { return has_list_; }
  /// Whether the text has the keys of an execution trace.
  bool is_execution_trace() const { return is_execution_trace_; }
  bool is_list() const { return is_list_; }

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
  MetadataReader metadata_;
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
  bool is_execution_trace_ = false;
};

}  // namespace tandem::trace
