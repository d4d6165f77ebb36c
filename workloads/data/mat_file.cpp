#include "workloads/data/mat_file.hpp"

#include <dlfcn.h>
#include <matio.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem {
namespace {

struct Matio {
  decltype(&Mat_Open) open = nullptr;
  decltype(&Mat_Close) close = nullptr;
  decltype(&Mat_VarReadInfo) read_info = nullptr;
  decltype(&Mat_VarReadData) read_data = nullptr;
  decltype(&Mat_VarRead) read = nullptr;
  decltype(&Mat_VarFree) free = nullptr;
};

/// The library in the version whose header was compiled.
Matio load_matio() {
  void* const library = dlopen(TANDEM_MATIO_LIBRARY, RTLD_LAZY | RTLD_LOCAL);
  const auto fail = [] {
    throw ConfigError("MATLAB files need libmatio (apt-get install libmatio-dev): " + std::string(dlerror()));
  };
  if (library == nullptr) fail();
  Matio found;
  const auto find = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (function == nullptr) fail();
  };
  find("Mat_Open", found.open);
  find("Mat_Close", found.close);
  find("Mat_VarReadInfo", found.read_info);
  find("Mat_VarReadData", found.read_data);
  find("Mat_VarRead", found.read);
  find("Mat_VarFree", found.free);
  return found;
}

const Matio& matio() {
  static const Matio functions = load_matio();
  return functions;
}

struct Free {
  void operator()(matvar_t* variable) const { matio().free(variable); }
};
using Variable = std::unique_ptr<matvar_t, Free>;

}  // namespace

struct MatFile::Open {
  mat_t* file;
  const std::string& path;

  [[noreturn]] void fail(const std::string& name, const std::string& expected) const {
    throw ConfigError("MATLAB file '" + path + "': expected an array '" + name + "' " + expected +
                      ", found another or a damaged one");
  }
  Variable found(matvar_t* variable, const std::string& name) const {
    if (variable == nullptr)
      throw ConfigError("MATLAB file '" + path + "': expected an array '" + name + "', found none");
    return Variable(variable);
  }
  Variable info(const std::string& name) const { return found(matio().read_info(file, name.c_str()), name); }
};

MatFile::MatFile(std::string path) : path_(std::move(path)) {
  mat_t* const file = matio().open(path_.c_str(), MAT_ACC_RDONLY);
  if (file == nullptr)
    throw ConfigError("'" + path_ + "': expected a MATLAB file (.mat), found another file or none");
  open_ = std::make_unique<Open>(file, path_);
}

MatFile::~MatFile() { matio().close(open_->file); }

std::vector<std::int64_t> MatFile::extents(const std::string& name) const {
  const Variable variable = open_->info(name);
  std::vector<std::int64_t> extents;
  for (int axis = 0; axis < variable->rank; ++axis)
    extents.push_back(static_cast<std::int64_t>(variable->dims[axis]));
  return extents;
}

std::vector<std::byte> MatFile::bytes(const std::string& name, std::int64_t count) const {
  const Variable variable = open_->info(name);
  if (variable->class_type != MAT_C_UINT8 || variable->isComplex != 0) open_->fail(name, "of bytes");
  std::vector<int> start, stride, edge;
  std::size_t size = 1;
  for (int axis = 0; axis < variable->rank; ++axis) {
    const bool is_last = axis + 1 == variable->rank;
    start.push_back(0);
    stride.push_back(1);
    edge.push_back(is_last ? static_cast<int>(count) : static_cast<int>(variable->dims[axis]));
    size *= static_cast<std::size_t>(edge.back());
  }
  TANDEM_CHECK(
      count >= 0 && !edge.empty() && static_cast<std::size_t>(count) <= variable->dims[edge.size() - 1],
      "count", count);
  std::vector<std::byte> bytes(size);
  if (size > 0 && matio().read_data(open_->file, variable.get(), bytes.data(), start.data(), stride.data(),
                                    edge.data()) != 0)
    open_->fail(name, "of bytes");
  return bytes;
}

std::vector<std::int64_t> MatFile::numbers(const std::string& name) const {
  const Variable variable = open_->found(matio().read(open_->file, name.c_str()), name);
  std::size_t size = 1;
  for (int axis = 0; axis < variable->rank; ++axis) size *= variable->dims[axis];
  std::vector<std::int64_t> numbers(size);
  const auto take = [&](const auto* values) {
    std::transform(values, values + size, numbers.begin(),
                   [](auto value) { return static_cast<std::int64_t>(value); });
  };
  const bool is_complete = variable->data != nullptr && variable->isComplex == 0 &&
                           variable->nbytes == size * static_cast<std::size_t>(variable->data_size);
  if (is_complete && variable->class_type == MAT_C_UINT8)
    take(static_cast<const std::uint8_t*>(variable->data));
  else if (is_complete && variable->class_type == MAT_C_DOUBLE)
    take(static_cast<const double*>(variable->data));
  else
    open_->fail(name, "of whole numbers");
  return numbers;
}

}  // namespace tandem
