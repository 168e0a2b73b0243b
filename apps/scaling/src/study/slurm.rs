//! Job scripts for SLURM, one per point. A script runs what is missing on disk.

use super::launch::flags;
use super::plan::{Point, Study, file};
use minifenl::{Error, Result, files};
use std::path::{Path, PathBuf};

/// Writes a script per point into `folder/jobs`, and `submit.sh`, which submits them; returns their paths.
///
/// # Errors
/// [`Error::File`] if one cannot be written.
pub fn emit(study: &Study, program: &Path, folder: &Path, minutes: u32) -> Result<Vec<PathBuf>> {
    let failed = |path: &Path, error: std::io::Error| Error::File {
        path: path.display().to_string(),
        reason: error.to_string(),
    };
    for sub in ["jobs", "runs"].map(|sub| folder.join(sub)) {
        std::fs::create_dir_all(&sub).map_err(|error| failed(&sub, error))?;
    }
    let folder = folder.canonicalize().map_err(|error| failed(folder, error))?;
    let mut paths = Vec::new();
    for point in study.points() {
        let path = folder.join(format!("jobs/{}.sh", point.stem()));
        files::write(&path, script(study, program, &folder, point, minutes)?.as_bytes())?;
        paths.push(path);
    }
    let submit = folder.join("jobs/submit.sh");
    let lines: String = paths.iter().map(|path| format!("sbatch {}\n", quoted(&path.to_string_lossy()))).collect();
    files::write(
        &submit,
        format!(
            "#!/bin/bash\n# When the jobs have ended: minifenl-scaling report {}\n{lines}",
            quoted(&folder.to_string_lossy())
        )
        .as_bytes(),
    )?;
    paths.push(submit);
    Ok(paths)
}

/// The script of one point.
fn script(study: &Study, program: &Path, folder: &Path, point: Point, minutes: u32) -> Result<String> {
    let uneven = if point.is_uneven() { format!("-{}", point.imbalance) } else { String::new() };
    let name = format!("minifenl-{}-{}x{}{uneven}", study.kind, point.ranks, point.threads);
    let gpus = if study.device.starts_with("cuda") { "#SBATCH --gpus-per-task=1\n" } else { "" };
    let words = flags(study, point, Path::new("REPORT"))?;
    let words: Vec<String> = words.iter().take(words.len() - 1).map(|word| quoted(word)).collect();
    let stem = file(point, 0).to_string_lossy().trim_end_matches("0.json").to_string();
    Ok(format!(
        "#!/bin/bash\n\
         # {study}: {point}. A report that is there is not run again.\n\
         #SBATCH --job-name={name}\n\
         #SBATCH --ntasks={ranks}\n\
         #SBATCH --cpus-per-task={threads}\n\
         #SBATCH --hint=nomultithread\n\
         #SBATCH --exclusive\n\
         {gpus}#SBATCH --time={hours:02}:{minutes:02}:00\n\
         #SBATCH --output={name}-%j.log\n\
         cd {folder} || exit 1\n\
         for repeat in $(seq 1 {repeats}); do\n    \
             report={stem}$repeat.json\n    \
             [ -s \"$report\" ] || srun -n {ranks} -c {threads} --cpu-bind=cores {program} {words} \"$report\"\n\
         done\n",
        ranks = point.ranks,
        threads = point.threads,
        hours = minutes / 60,
        minutes = minutes % 60,
        folder = quoted(&folder.to_string_lossy()),
        repeats = study.repeats,
        program = quoted(&program.to_string_lossy()),
        words = words.join(" "),
    ))
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::study::{Kind, Record};
    use crate::testing::Sample;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    #[test]
    fn scripts_run_what_is_missing() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("a study's");
        let tool = |name: &str, text: &str| {
            let path = root.path().join(name);
            std::fs::write(&path, format!("#!/bin/bash\n{text}\n")).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            path
        };
        // srun -n 2 -c 1 --cpu-bind=cores PROGRAM ...: notes its words and starts the program.
        tool("srun", "printf '%s\\n' \"$*\" >> \"$LOG\"; shift 5; exec \"$@\"");
        let report = root.path().join("made.json");
        std::fs::write(&report, Sample { ranks: 2, ..Sample::default() }.json().to_string()).unwrap();
        let program = tool("minifenl", &format!("cp {} \"${{@: -1}}\"", report.display()));
        let (kind, ranks, threads, imbalance) = (Kind::Weak, vec![2], vec![1], vec![0]);
        let (nodes, device, flags) = ([8; 3], "cuda".into(), vec![]);
        let study = Study { kind, nodes, device, flags, ranks, threads, workers: None, imbalance, repeats: 3 };
        let paths = emit(&study, &program, &folder, 90).unwrap();
        assert_eq!(paths.len(), 2);
        let text = std::fs::read_to_string(&paths[0]).unwrap();
        for line in
            ["--ntasks=2", "--cpus-per-task=1", "--gpus-per-task=1", "--time=01:30:00", "--job-name=minifenl-weak-2x1"]
        {
            assert!(text.contains(&format!("\n#SBATCH {line}\n")), "{text}");
        }
        let point = Point::even(2, 1);
        std::fs::copy(&report, folder.join(file(point, 2))).unwrap();
        let log = root.path().join("log");
        let path = format!("{}:{}", root.path().display(), std::env::var("PATH").unwrap());
        let status = Command::new("bash").arg(&paths[0]).env("PATH", path).env("LOG", &log).status().unwrap();
        assert!(status.success());
        let log = std::fs::read_to_string(log).unwrap();
        assert_eq!(log.lines().count(), 2, "the second run was there: {log}");
        assert!(
            log.contains(
                "--device cuda --size 1,2.142857142857143,1 --threads 1 --triad --report runs/ranks-000002-threads-001-3.json"
            ),
            "{log}"
        );
        assert!(Record::read(&folder.join(file(point, 3))).is_ok());
        // Uneven boxes have a job of their own.
        let uneven = Study { imbalance: vec![0, 50], ..study };
        let paths = emit(&uneven, &program, &folder, 90).unwrap();
        assert!(paths.len() == 3 && paths[1].ends_with("ranks-000002-threads-001-imbalance-050.sh"), "{paths:?}");
        let text = std::fs::read_to_string(&paths[1]).unwrap();
        assert!(text.contains("--job-name=minifenl-weak-2x1-50\n") && text.contains(" --imbalance 50 "), "{text}");
        assert!(text.contains("report=runs/ranks-000002-threads-001-imbalance-050-$repeat.json"), "{text}");
    }

    #[test]
    fn words_are_quoted() {
        assert_eq!(quoted("a/b-1.json"), "a/b-1.json");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted(""), "''");
    }
}
