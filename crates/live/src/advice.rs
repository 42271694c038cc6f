//! What to do where a machine refuses namespaces.
//!
//! Who forbids it is not in the error, so the settings of those who might are read afterwards: whether it works is only ever
//! found by trying.

use crate::protocol::Failure;
use std::fs;

/// A setting that may forbid what was tried, when it does, and what lifts it.
const REASONS: [(&str, &str, &str); 3] = [
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "AppArmor restricts user namespaces (Ubuntu 23.10 and newer). As root: \
         sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or give this Python an AppArmor profile with \"userns,\"",
    ),
    (
        "/proc/sys/kernel/unprivileged_userns_clone",
        "0",
        "this kernel forbids user namespaces to users (Debian's switch). As root: sysctl -w kernel.unprivileged_userns_clone=1",
    ),
    (
        "/proc/sys/user/max_user_namespaces",
        "0",
        "no user namespace is allowed. As root: sysctl -w user.max_user_namespaces=10000",
    ),
];

/// What would make it work, as far as this machine shows who forbids it.
pub fn help(failure: &Failure) -> String {
    let read = |file: &str| fs::read_to_string(file).ok();
    let is_container = fs::exists("/.dockerenv").unwrap_or(false)
        || read("/proc/1/cgroup").is_some_and(|text| text.contains("docker"));
    of(failure, read, is_container)
}

fn of(failure: &Failure, read: impl Fn(&str) -> Option<String>, is_container: bool) -> String {
    if failure.step == "starting pasta" {
        return "--internet needs pasta (Debian and Fedora: package passt), and a machine that lets it open namespaces"
            .to_owned();
    }
    if failure.errno == libc::ENOENT && failure.step.starts_with("starting ") {
        return "install it, or write its whole path".to_owned();
    }
    let forbidden = [libc::EPERM, libc::EACCES, libc::ENOSPC];
    if !forbidden.contains(&failure.errno) {
        return "sojourn doctor tries each part of what the live engine needs".to_owned();
    }
    let found = REASONS
        .iter()
        .find(|(file, value, _)| read(file).is_some_and(|text| text.trim() == *value));
    if let Some((_, _, help)) = found {
        return (*help).to_owned();
    }
    if is_container {
        return "the container's seccomp profile forbids namespaces. Run it with \
                --security-opt seccomp=unconfined --security-opt apparmor=unconfined, or with --cap-add SYS_ADMIN"
            .to_owned();
    }
    "something on this machine forbids user namespaces: a seccomp filter, or a security module. sojourn doctor tries each part"
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(errno: i32) -> Failure {
        Failure { step: "user namespaces".to_owned(), why: "no".to_owned(), errno }
    }

    #[test]
    fn a_program_that_is_not_there_is_installed_or_named_by_its_path() {
        let gone = Failure {
            step: "starting nosuch".to_owned(),
            why: "No such file or directory".to_owned(),
            errno: libc::ENOENT,
        };
        assert_eq!(of(&gone, |_| None, false), "install it, or write its whole path");
    }

    #[test]
    fn the_setting_that_forbids_is_named() {
        let ubuntu = |file: &str| file.contains("apparmor").then(|| "1\n".to_owned());
        assert!(of(&failure(libc::EACCES), ubuntu, false).contains("userns=0"));
        let none = |file: &str| file.contains("max_user").then(|| "0\n".to_owned());
        assert!(of(&failure(libc::ENOSPC), none, true).contains("max_user_namespaces=10000"));
        let allowed = |_: &str| Some("96365\n".to_owned());
        assert!(of(&failure(libc::EPERM), allowed, true).contains("seccomp=unconfined"));
        assert!(of(&failure(libc::EPERM), allowed, false).contains("seccomp filter"));
        assert!(of(&failure(libc::ENODEV), ubuntu, false).contains("sojourn doctor"));
    }
}
