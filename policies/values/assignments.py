"""NAME=VALUE words, and the names that steer loaders, interpreters, tools or proxies."""

from __future__ import annotations

import re

from policies.values.value import Check, Place, ValueType

__all__ = ["assignment_check", "is_steering"]

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

PREFIXES = (
    "LD_", "DYLD_", "GIT_", "SSH_", "GCONV_", "MALLOC_", "GLIBC_", "BASH_", "PIP_", "UV_",
    "NPM_CONFIG_", "npm_config_", "CARGO_", "RUST", "GO111", "GOFLAGS", "JAVA_", "_JAVA_",
    "MAVEN_", "GRADLE_", "DOCKER_", "KUBE", "AWS_", "PYTEST_", "COVERAGE_", "STOCKADE_",
)  # fmt: skip
SUFFIXES = ("_PROXY", "_proxy", "PATH", "_OPTS", "_OPTIONS", "_COMMAND", "_EDITOR", "_PAGER")
NAMES = frozenset(
    (
        "PATH",
        "HOME",
        "SHELL",
        "ENV",
        "IFS",
        "CDPATH",
        "PS4",
        "PROMPT_COMMAND",
        "SHELLOPTS",
        "BASHOPTS",
        "TMPDIR",
        "TMP",
        "TEMP",
        "USER",
        "LOGNAME",
        "PWD",
        "OLDPWD",
        "TERM",
        "TERMINFO",
        "TERMCAP",
        "LANG",
        "LANGUAGE",
        "LOCPATH",
        "NLSPATH",
        "HOSTALIASES",
        "RES_OPTIONS",
        "EDITOR",
        "VISUAL",
        "PAGER",
        "MANPAGER",
        "BROWSER",
        "LESS",
        "LESSOPEN",
        "LESSCLOSE",
        "LESSKEY",
        "MORE",
        "GREP_OPTIONS",
        "PYTHONHOME",
        "PYTHONSTARTUP",
        "PYTHONINSPECT",
        "PYTHONBREAKPOINT",
        "PYTHONWARNINGS",
        "PYTHONUSERBASE",
        "PYTHONEXECUTABLE",
        "PYTHONPLATLIBDIR",
        "PYTHONSAFEPATH",
        "PYTHONPYCACHEPREFIX",
        "PYTHONDEVMODE",
        "PYTHONWARNDEFAULTENCODING",
        "VIRTUAL_ENV",
        "CONDA_PREFIX",
        "NODE_OPTIONS",
        "NODE_EXTRA_CA_CERTS",
        "NODE_REPL_EXTERNAL_MODULE",
        "NODE_TLS_REJECT_UNAUTHORIZED",
        "PERL5LIB",
        "PERL5OPT",
        "PERLLIB",
        "PERL5DB",
        "RUBYOPT",
        "RUBYLIB",
        "GEM_HOME",
        "BUNDLE_GEMFILE",
        "LUA_INIT",
        "PHPRC",
        "PHP_INI_SCAN_DIR",
        "CLASSPATH",
        "JAVA_TOOL_OPTIONS",
        "GOENV",
        "GOPROXY",
        "GOPRIVATE",
        "GOTOOLCHAIN",
        "GOROOT",
        "GOBIN",
        "GOMODCACHE",
        "GOSUMDB",
        "GONOSUMDB",
        "GOINSECURE",
        "CC",
        "CXX",
        "CPP",
        "LD",
        "AR",
        "AS",
        "NM",
        "OBJCOPY",
        "RANLIB",
        "STRIP",
        "CFLAGS",
        "CXXFLAGS",
        "CPPFLAGS",
        "LDFLAGS",
        "LDLIBS",
        "GCC_EXEC_PREFIX",
        "COMPILER_PATH",
        "LIBRARY_PATH",
        "CPATH",
        "C_INCLUDE_PATH",
        "CPLUS_INCLUDE_PATH",
        "MAKE",
        "MAKEFLAGS",
        "MFLAGS",
        "MAKEFILES",
        "GNUMAKEFLAGS",
        "CMAKE_TOOLCHAIN_FILE",
        "CMAKE_GENERATOR",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_CACHE_HOME",
        "XDG_STATE_HOME",
        "XDG_RUNTIME_DIR",
        "XDG_DATA_DIRS",
        "XDG_CONFIG_DIRS",
        "INPUTRC",
        "CURL_HOME",
        "WGETRC",
        "NETRC",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "REQUESTS_CA_BUNDLE",
        "CURL_CA_BUNDLE",
        "OPENSSL_CONF",
        "OPENSSL_MODULES",
        "OPENSSL_ENGINES",
        "RIPGREP_CONFIG_PATH",
        "FZF_DEFAULT_COMMAND",
        "TAR_OPTIONS",
        "GZIP",
        "BZIP2",
        "XZ_OPT",
        "XZ_DEFAULTS",
        "ZIPOPT",
        "UNZIP",
        "TOX_TESTENV_PASSENV",
        "MYPYPATH",
        "MYPY_CACHE_DIR",
        "DISPLAY",
        "WAYLAND_DISPLAY",
        "SUDO_ASKPASS",
    )
)


def is_steering(name: str) -> bool:
    """Whether setting this variable can make a program load, run or contact something else."""
    return name in NAMES or name.startswith(PREFIXES) or name.endswith(SUFFIXES)


def assignment_check(value: ValueType) -> Check:
    """``NAME=value`` with a name that steers nothing, and a value of the type or empty."""

    def check(word: str, place: Place) -> str | None:
        name, equals, rest = word.partition("=")
        if not equals:
            return "value-type" if word else "empty-word"
        if NAME.fullmatch(name) is None:
            return "value-type"
        if is_steering(name):
            return "env-denied"
        return value.check(rest, place) if rest else None

    return check
