// Files with traces of requests to a cache, in formats of libCacheSim.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "policies/cache/trace.hpp"

namespace tandem {

/// How to read a trace.
struct TraceFormat {
  std::string type;         ///< of trace_types()
  std::string record = {};  ///< of binary: the fields, "<IQI" (letters of Python's struct)
  // Columns of csv and binary; columns are counted from 1.
  int id_column = 1;
  int size_column = 2;  ///< 0: there is none, each object has one byte
  char delimiter = ',';
  bool has_header = false;
  /// Counts every object as one byte.
  bool ignores_sizes = false;
};

/// Those of libCacheSim: text (txt, csv), records (binary, oracleGeneral, oracleGeneralOpNS, lcs, vscsi,
/// twr), and auto: by the name of the file. Files that end in .zst are unpacked on the way.
const std::vector<std::string>& trace_types();
/// The type, by the file's name. Errors: ConfigError.
std::string trace_type_of(const std::string& path);

/// Ids that are no numbers are hashed.
struct TraceFile {
  cache::NumberedTrace trace;
  std::int64_t skipped = 0;  ///< requests for no bytes
};

/// `progress` is called now and then with the share of the file that was read. Errors: ConfigError naming the
/// file, the line or byte, what was expected and found, for a file that is missing, empty, truncated or of
/// another type.
TraceFile read_trace(
    const std::string& path, const TraceFormat& format,
    const std::function<void(double)>& progress = [](double) {});

}  // namespace tandem
