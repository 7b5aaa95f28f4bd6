// PKEX_X86_LEVELS is defined by the build where the hot loop was compiled for v2, v3 and v4.

#include "dispatch.hpp"

#include <cstdlib>
#include <stdexcept>

#if defined(PKEX_X86_LEVELS)
namespace pkex_v2 {
extern const pkex::Backend backend;
}
namespace pkex_v3 {
extern const pkex::Backend backend;
}
namespace pkex_v4 {
extern const pkex::Backend backend;
}
#else
namespace pkex_base {
extern const pkex::Backend backend;
}
#endif

namespace pkex {

const std::vector<const Backend*>& available_backends() {
    static const std::vector<const Backend*> found = [] {
        std::vector<const Backend*> backends;
#if defined(PKEX_X86_LEVELS)
        __builtin_cpu_init();
        if (!__builtin_cpu_supports("sse4.2")) return backends;
        backends.push_back(&pkex_v2::backend);
        if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return backends;
        backends.push_back(&pkex_v3::backend);
        for (const bool has :
             {bool(__builtin_cpu_supports("avx512f")), bool(__builtin_cpu_supports("avx512bw")),
              bool(__builtin_cpu_supports("avx512cd")), bool(__builtin_cpu_supports("avx512dq")),
              bool(__builtin_cpu_supports("avx512vl"))}) {
            if (!has) return backends;
        }
        backends.push_back(&pkex_v4::backend);
#else
        backends.push_back(&pkex_base::backend);
#endif
        return backends;
    }();
    return found;
}

const Backend& backend_named(const std::string& name) {
    std::string names;
    for (const Backend* backend : available_backends()) {
        if (name == backend->name) return *backend;
        names += names.empty() ? backend->name : std::string(", ") + backend->name;
    }
    throw std::invalid_argument("there is no instruction set '" + name + "' here; there is " +
                                names + ".");
}

const Backend& default_backend() {
    static const Backend& chosen = []() -> const Backend& {
        const auto& backends = available_backends();
        const char* wanted = std::getenv("PKEX_ISA");
        const Backend* best = backends.back();
        if (!wanted || !*wanted) return *best;
#if defined(PKEX_X86_LEVELS)
        const std::string level = wanted;
        if (level != "v2" && level != "v3" && level != "v4") {
            throw std::invalid_argument("PKEX_ISA must be v2, v3 or v4, got '" + level + "'.");
        }
        for (const Backend* backend : backends) {
            if (backend->name <= level) best = backend;
        }
#endif
        return *best;
    }();
    return chosen;
}

}  // namespace pkex
