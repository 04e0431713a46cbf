//! Job scripts, as they are emitted, through a real Slurm (one node on this machine, with a configuration of its own) and through
//! GNU parallel: a task is ended halfway, started again, and the joined parts are those of an undivided run, byte by byte.
//! Skipped, and said so, where they are not installed.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::launch::{folder_with, run, succeeded};
use tempfile::TempDir;

/// Cells that take a while, so that a task can be ended between two of them.
const SPEC: &str = r#"
name   = "parts"
rounds = 300_000
seeds  = 6
environment = { name = "bernoulli", means = [0.5, 0.4, 0.3] }

[[learner]]
label  = "a band"
master = { name = "corral", rate = "fast" }
bases  = [ "ucb1", "exp3" ]

[[learner]]
label  = "another"
master = { name = "corral" }
bases  = [ "ucb1", "exp3" ]
"#;

const PARTS: &str = "3";
/// The folder of the joined results; a word that a shell would split.
const WHOLE: &str = "all parts";
const PATIENCE: Duration = Duration::from_secs(300);

/// Whether all programs are installed; if not, that is said.
fn installed(programs: &[&str]) -> bool {
    let folders: Vec<PathBuf> =
        std::env::split_paths(&search_path()).filter(|f| !f.as_os_str().is_empty()).collect();
    let missing: Vec<&&str> =
        programs.iter().filter(|p| !folders.iter().any(|f| f.join(p).is_file())).collect();
    if !missing.is_empty() {
        // Not by a macro: the harness would keep it to itself.
        let _ = writeln!(std::io::stderr(), "SKIPPED: not installed: {missing:?}; job scripts were not run");
    }
    missing.is_empty()
}

/// Daemons stand where users do not look; and the program under test is the one that scripts find.
fn search_path() -> std::ffi::OsString {
    let own = Path::new(env!("CARGO_BIN_EXE_corral")).parent().unwrap().to_owned();
    let given = std::env::var_os("PATH").unwrap_or_default();
    let all =
        [own].into_iter().chain(std::env::split_paths(&given)).chain(["/usr/sbin".into(), "/sbin".into()]);
    std::env::join_paths(all).unwrap()
}

/// A command that finds what is tested here, in `dir`.
fn command(dir: &Path, program: &str) -> Command {
    let mut command = Command::new(program);
    command.current_dir(dir).env("PATH", search_path()).env_remove("CORRAL_PLUGINS").stdin(Stdio::null());
    command
}

/// Waits until `found` finds something.
fn wait_for<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(started.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Writes the script that the program emits for `system`.
fn emitted(dir: &TempDir, system: &str) -> String {
    let args = ["--emit", system, "--parts", PARTS, "--out", WHOLE];
    let script = succeeded(&run(dir, &args));
    fs::write(dir.path().join("job.sh"), &script).unwrap();
    script
}

fn part(dir: &TempDir, number: usize) -> PathBuf {
    dir.path().join(format!("{WHOLE}.part-{number}"))
}

/// Whether a cell of a part is there and the part is not finished.
fn halfway(dir: &TempDir, number: usize) -> Option<()> {
    let cells = fs::read_to_string(part(dir, number).join("cells.partial.jsonl")).ok()?;
    cells.contains('\n').then_some(())
}

fn finished(dir: &TempDir, number: usize) -> bool {
    part(dir, number).join("cells.jsonl").is_file()
}

/// The joined results are those of a run that was never divided.
fn compare(dir: &TempDir) {
    succeeded(&run(dir, &["--out", "undivided"]));
    for file in ["cells.jsonl", "results.csv", "report.html"] {
        let read = |folder: &str| fs::read(dir.path().join(folder).join(file)).unwrap();
        assert!(read(WHOLE) == read("undivided"), "{file} differs");
    }
}

#[test]
fn a_job_of_gnu_parallel_survives_the_end_of_a_task() {
    if !installed(&["bash", "parallel"]) {
        return;
    }
    let dir = folder_with(SPEC);
    emitted(&dir, "parallel");
    let start = || {
        let mut job = command(dir.path(), "bash");
        job.arg("job.sh").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let mut job = start();
    wait_for("a cell of part 2", || halfway(&dir, 2));
    let task = wait_for("the task", || process_of(&part(&dir, 2)));
    succeeded(&command(dir.path(), "kill").args(["-TERM", &task.to_string()]).output().unwrap());
    // The script ends with an error, and joins nothing.
    assert!(!job.wait().unwrap().success());
    assert!(!finished(&dir, 2) && !dir.path().join(WHOLE).exists());
    assert!(start().wait().unwrap().success());
    assert!(finished(&dir, 2));
    compare(&dir);
}

/// The process of the program that writes into `folder`.
fn process_of(folder: &Path) -> Option<u32> {
    let name = folder.file_name()?.to_str()?.as_bytes();
    let here = folder.parent()?;
    fs::read_dir("/proc").ok()?.flatten().find_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        let words: Vec<&[u8]> = line.split(|b| *b == 0).collect();
        let ours = fs::read_link(entry.path().join("cwd")).ok()? == here.canonicalize().ok()?;
        let corral = words.first()?.ends_with(b"corral");
        (ours && corral && words.contains(&name)).then_some(pid)
    })
}

/// A Slurm of one node on this machine: it has its own key, sockets, ports and folders, and ends with the test.
struct Slurm {
    dir: TempDir,
    daemons: Vec<Child>,
}

impl Slurm {
    fn start() -> Self {
        let dir = TempDir::new().unwrap();
        let at = |name: &str| dir.path().join(name).display().to_string();
        // munged wants the folder of its socket to be open to all, and its key to be not.
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(at("munge.key"), [7u8; 64]).unwrap();
        fs::set_permissions(at("munge.key"), fs::Permissions::from_mode(0o600)).unwrap();
        ["state", "spool"].iter().for_each(|name| fs::create_dir(at(name)).unwrap());
        let printed = |program: &str, arg: &str| {
            let output = Command::new(program).arg(arg).output().unwrap();
            succeeded(&output).trim().to_owned()
        };
        let (user, host) = (printed("id", "-un"), printed("hostname", "-s"));
        // Two ports that are free now; they are let go at once.
        let listeners: Vec<TcpListener> = (0..2).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let ports: Vec<u16> = listeners.iter().map(|l| l.local_addr().unwrap().port()).collect();
        drop(listeners);
        let configuration = format!(
            "ClusterName=corral\nSlurmctldHost=localhost(127.0.0.1)\nSlurmctldPort={}\nSlurmdPort={}\n\
             SlurmUser={user}\nSlurmdUser={user}\nAuthType=auth/munge\nAuthInfo=socket={}\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nJobAcctGatherType=jobacct_gather/none\n\
             AccountingStorageType=accounting_storage/none\nMpiDefault=none\nSchedulerType=sched/builtin\n\
             SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nReturnToService=2\n\
             SlurmdParameters=config_overrides\nStateSaveLocation={}\nSlurmdSpoolDir={}\n\
             SlurmctldPidFile={}\nSlurmdPidFile={}\nSlurmctldLogFile={}\nSlurmdLogFile={}\n\
             NodeName=here NodeHostname={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN\n\
             PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n",
            ports[0],
            ports[1],
            at("munge.socket"),
            at("state"),
            at("spool"),
            at("slurmctld.pid"),
            at("slurmd.pid"),
            at("slurmctld.log"),
            at("slurmd.log"),
        );
        fs::write(at("slurm.conf"), configuration).unwrap();
        let mut slurm = Self { dir, daemons: Vec::new() };
        let option = |name: &str, file: &str| format!("--{name}={}", slurm.dir.path().join(file).display());
        let munged = [
            "--foreground".to_owned(),
            "--force".to_owned(),
            option("key-file", "munge.key"),
            option("socket", "munge.socket"),
            option("pid-file", "munge.pid"),
            option("seed-file", "munge.seed"),
        ];
        slurm.daemon("munged", &munged.each_ref().map(String::as_str));
        wait_for("munged", || slurm.dir.path().join("munge.socket").exists().then_some(()));
        slurm.daemon("slurmctld", &["-D"]);
        slurm.daemon("slurmd", &["-D", "-N", "here"]);
        let idle = |output: Output| String::from_utf8_lossy(&output.stdout).contains("idle");
        wait_for("a node", || idle(slurm.command(Path::new("/"), "sinfo").output().unwrap()).then_some(()));
        slurm
    }

    fn daemon(&mut self, program: &str, args: &[&str]) {
        let log = |kind: &str| fs::File::create(self.dir.path().join(format!("{program}.{kind}"))).unwrap();
        let mut command = self.command(self.dir.path(), program);
        let child = command.args(args).stdout(log("out")).stderr(log("err")).spawn().unwrap();
        self.daemons.push(child);
    }

    fn command(&self, dir: &Path, program: &str) -> Command {
        let mut command = command(dir, program);
        command.env("SLURM_CONF", self.dir.path().join("slurm.conf"));
        command
    }

    /// Submits the job, and returns its number.
    fn submit(&self, dir: &Path, args: &[&str]) -> String {
        let output = self.command(dir, "sbatch").arg("--parsable").args(args).arg("job.sh").output().unwrap();
        succeeded(&output).trim().to_owned()
    }

    /// Waits until nothing of a job is in the queue.
    fn wait(&self, dir: &Path, job: &str) {
        wait_for("the job", || {
            let output = self.command(dir, "squeue").args(["--noheader", "--jobs", job]).output().unwrap();
            output.stdout.trim_ascii().is_empty().then_some(())
        });
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        for daemon in self.daemons.iter_mut().rev() {
            // By its number: another Slurm on this machine stays as it is. SIGTERM first, so that tasks end, too.
            let _ = Command::new("kill").args(["-TERM", &daemon.id().to_string()]).status();
            let started = Instant::now();
            while daemon.try_wait().is_ok_and(|ended| ended.is_none()) {
                if started.elapsed() > Duration::from_secs(10) {
                    let _ = daemon.kill();
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

#[test]
fn a_slurm_array_survives_the_end_of_a_task() {
    if !installed(&[
        "bash",
        "munged",
        "slurmctld",
        "slurmd",
        "sbatch",
        "scancel",
        "squeue",
        "sinfo",
        "hostname",
    ]) {
        return;
    }
    let slurm = Slurm::start();
    let dir = folder_with(SPEC);
    let script = emitted(&dir, "slurm");
    let job = slurm.submit(dir.path(), &[]);
    wait_for("a cell of task 2", || halfway(&dir, 2));
    let cancelled = slurm.command(dir.path(), "scancel").arg(format!("{job}_2")).output().unwrap();
    succeeded(&cancelled);
    slurm.wait(dir.path(), &job);
    assert!(finished(&dir, 1) && !finished(&dir, 2) && finished(&dir, 3));
    // What the script says of it.
    assert!(script.contains("sbatch --array=2"), "{script}");
    let again = slurm.submit(dir.path(), &["--array=2"]);
    slurm.wait(dir.path(), &again);
    assert!(finished(&dir, 2));
    let merge = script.lines().find_map(|l| l.strip_prefix("#   corral merge ")).unwrap();
    succeeded(&command(dir.path(), "bash").args(["-c", &format!("corral merge {merge}")]).output().unwrap());
    compare(&dir);
}
